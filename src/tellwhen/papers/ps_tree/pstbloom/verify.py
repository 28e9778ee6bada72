"""Check of a `pstbloom` index: its lists and signatures are those that its conjunctions make."""

from __future__ import annotations

from tellwhen.compile.normal_form import Conjunctions
from tellwhen.engines.shared.spaces import count_spaces
from tellwhen.kernels.arrays import Predicates
from tellwhen.papers.ps_tree.arrays import TreeState
from tellwhen.papers.ps_tree.pstbloom.arrays import PSTBloomIndex, SignatureLimits
from tellwhen.papers.ps_tree.pstbloom.kernels import compute_signature_bit
from tellwhen.papers.ps_tree.verify import Place, check_lists, check_state, list_covered_spaces, read_records_by_offset


def check_index(
    index: PSTBloomIndex, state: TreeState, predicates: Predicates, conjunctions: Conjunctions, limits: SignatureLimits
) -> None:
    """Raise AssertionError at the first difference between the index and its conjunctions."""
    spaces = check_state(state, index.common, predicates, conjunctions.predicate)
    width = count_spaces(spaces, predicates)

    def place(members: list[int]) -> Place:
        if not members:
            return Place([], len(spaces.cut_start) - 1)
        access = min(members, key=lambda p: state.rank[p])
        if width[access] > limits.lists:
            return Place([], int(predicates.domain[access]))
        return Place([access], tuple(list_covered_spaces(spaces, predicates, access)))

    check_lists(index.common, conjunctions, range(spaces.total), place)
    records = read_records_by_offset(index.common)
    for at, first in zip(index.common.postings.tolist(), index.first_domain.tolist(), strict=True):
        expected = [*records[at].domain, -len(spaces.cut_start)][0]
        assert first == expected, f"the posting of record {at} has domain {first} instead of {expected}"
    for at, record in records.items():
        for p, domain in zip(record.tested, record.domain, strict=True):
            is_signed = width[p] <= limits.signed_spaces and limits.bits > 0
            expected = predicates.domain[p] if is_signed else -1 - predicates.domain[p]
            assert domain == expected, f"record {at} has domain {domain} instead of {expected} for predicate {p}"
            for space in list_covered_spaces(spaces, predicates, p) if is_signed else ():
                begin, end = index.signature_start[space : space + 2].tolist()
                bit = int(compute_signature_bit(at, end - begin))
                word = int(index.signatures[begin + bit // 64])
                assert word >> bit % 64 & 1, f"the signature of space {space} lacks the record at {at}"
