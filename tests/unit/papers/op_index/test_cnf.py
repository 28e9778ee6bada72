"""`opindex-cnf`: the example of section 6.1, and the limit of 64 clauses."""

from itertools import pairwise

import pytest

import tellwhen as tw
from tellwhen.encode.events import encode

pytestmark = pytest.mark.late


@pytest.mark.slow
def test_section_6_1():
    """The smallest clause gives the pivots, of equals the rarer one; any entry strikes out the bit of its clause."""
    index = tw.Index("opindex-cnf").add_many(
        {
            "two": "(A = 1 OR B >= 2) AND (C = 1 OR D = 1 OR E = 1)",
            "one": "(A = 1 OR B >= 2) AND C BETWEEN 3 AND 5",
            "rare": "(A = 1 OR A = 2) AND (C = 1 OR F = 1)",
            "none": "TRUE",
        }
    )
    index.rebuild()
    found, ids = index._shard.engine._index, index._shard.ids
    names = [domain.attribute for domain in index._shard.store.attributes.domains]
    named = [(ids[-1 - slot if slot < 0 else slot], slot < 0) for slot in found.conjunction_slot.tolist()]
    start = found.pivot_start.tolist()
    assert {name: named[a:b] for name, (a, b) in zip(names, pairwise(start), strict=True) if a < b} == {
        "A": [("two", True)], "B": [("two", True)], "C": [("one", False), ("rare", True)], "F": [("rare", True)],
    }  # fmt: skip
    assert named[start[-1] :] == [("none", False)]
    assert [bin(bits) for bits in found.clauses.tolist()] == ["0b11"] * 5 + ["0b0"]
    assert index.match({"A": 1, "B": 2, "E": 1}) == ["two", "none"]
    assert index.match({"B": 3, "C": 4}) == ["one", "none"]
    assert index.match({"B": 3, "C": 6}) == ["none"]  # beyond the high end
    assert index.match({"A": 2, "C": 1, "F": 1}) == ["rare", "none"]
    assert index.match({"A": 1}) == ["none"]
    arrays, _ = encode([{"C": 1}, {"F": 1}, {"D": 1}], index._shard.store.attributes, tw.Schema())
    assert index._shard.engine.reader().count_candidates(arrays) == 2


def test_has_a_bit_for_each_of_64_clauses():
    pairs = [f"p{k} = 1 AND q{k} = 1" for k in range(6)]
    index = tw.Index("opindex-cnf", strict=True).add("64 clauses", " OR ".join(pairs)).rebuild()
    assert index.match({"p0": 1, "q1": 1, "p2": 1, "q3": 1, "p4": 1, "q5": 1}) == []
    assert index.match({"p5": 1, "q5": 1}) == ["64 clauses"]
    with pytest.raises(tw.BudgetError):
        index.add("65 clauses", f"a = 1 AND ({' OR '.join(pairs)})")
    assert index.rebuild().match({"a": 2}) == []
