"""The common view of scores that bounds read: hits at every distinct score."""

import numpy as np
from hypothesis import given, strategies as st

from dpassay.audit.evidence.scores import PairScores

values = st.lists(st.sampled_from([-np.inf, -1.0, -0.0, 0.0, 0.5, 3.0, np.inf]), max_size=25)


@given(values, values)
def test_tally_counts_what_a_loop_counts(out, in_):
    scores = PairScores(np.array(out), np.array(in_))
    tally = scores.tally
    assert tally.thresholds.tolist() == sorted(set(out + in_))
    for threshold, hits_out, hits_in in zip(tally.thresholds, tally.hits_out, tally.hits_in, strict=True):
        assert (hits_out, hits_in) == scores.hits(threshold)
        assert (hits_out, hits_in) == (sum(x >= threshold for x in out), sum(x >= threshold for x in in_))
    assert (tally.n_out, tally.n_in) == (len(out), len(in_))
