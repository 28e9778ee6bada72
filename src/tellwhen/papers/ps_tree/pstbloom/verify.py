"""Are lists and signatures of `pstbloom` those that its conjunctions make?"""

from __future__ import annotations

from tellwhen.compile.normal_form import Conjunctions
from tellwhen.engines.shared.spaces import widths
from tellwhen.kernels.arrays import Predicates
from tellwhen.papers.ps_tree.arrays import MAX_LISTS, TreeState
from tellwhen.papers.ps_tree.pstbloom.arrays import MAX_SIGNED_SPACES, PSTBloomIndex
from tellwhen.papers.ps_tree.pstbloom.kernels import bit_of
from tellwhen.papers.ps_tree.verify import Expected, covered, read_records, verify_lists, verify_state


def verify(
    index: PSTBloomIndex, state: TreeState, predicates: Predicates, conjunctions: Conjunctions, bits: int
) -> None:
    """Raises AssertionError at the first difference. `conjunctions` are those in the index, `bits` is the option."""
    spaces = verify_state(state, index.common, predicates, conjunctions.predicate)
    width = widths(spaces, predicates)

    def expect(mine: list[int]) -> Expected:
        if not mine:
            return Expected([], len(spaces.cut_start) - 1)
        access = min(mine, key=lambda p: state.rank[p])
        if width[access] > MAX_LISTS:
            return Expected([], int(predicates.domain[access]))
        return Expected([access], tuple(covered(spaces, predicates, access)))

    verify_lists(index.common, conjunctions, range(spaces.total), expect)
    for at, record in read_records(index.common).items():
        for p, domain in zip(record.tested, record.domain, strict=True):
            is_signed = width[p] <= MAX_SIGNED_SPACES and bits > 0
            expected = predicates.domain[p] if is_signed else -1 - predicates.domain[p]
            assert domain == expected, "a record has a wrong domain"
            for space in covered(spaces, predicates, p) if is_signed else ():
                begin, end = index.signature_start[space : space + 2].tolist()
                bit = int(bit_of(at, end - begin))
                assert int(index.signatures[begin + bit // 64]) >> bit % 64 & 1, "a conjunction is not in a signature"
