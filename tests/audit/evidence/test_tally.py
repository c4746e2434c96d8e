"""The common view of scores that bounds read: hits at every distinct score."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dpassay.audit.evidence.scores import PairScores
from dpassay.mechanisms.core import ParameterError

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


def test_long_doubles_are_read_and_refused_beyond_the_range_of_doubles():
    scores = np.array([0.1, 0.2], dtype=np.longdouble)
    assert PairScores(scores, [1.0]).out.dtype == np.float64
    with pytest.raises(ParameterError, match="out must fit into 64 bits"):
        PairScores(scores * np.longdouble("1e4000"), [1.0])
