"""Ranks and keys of scores have one order."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tellwhen.papers.ranked.order import decode_scores, encode_scores, sort_by_rank

SCORES = st.sampled_from([-2.5, -1.0, -0.0, 0.0, 0.5, 1.0, 3.0]) | st.floats(allow_nan=False)


@given(st.lists(SCORES, min_size=2))
def test_ranks_and_keys_are_the_one_order(scores):
    score = np.array(scores)
    wanted = [n for _, n in sorted((-s, n) for n, s in enumerate(scores))]
    assert sort_by_rank(score).tolist() == wanted
    key = encode_scores(score)
    assert np.lexsort((np.arange(len(key)), key)).tolist() == wanted
    assert (decode_scores(key) == score).all()
