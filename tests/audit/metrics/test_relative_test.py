"""Are unlearned models nearer to retrained or to original ones?"""

import numpy as np
import pytest
from scipy import stats

from dpassay.audit.metrics import relative_test
from dpassay.mechanisms.core import ParameterError
from dpassay.mechanisms.literature.unlearning import Unlearning


def normal(seed, centre, n=400):
    return np.random.default_rng(seed).normal(centre, 1.0, (n, 2))


def test_shares_are_those_of_the_best_classifier_and_positions_lie_between():
    """Centres 0 and 2 on the diagonal: a share is Phi of the distance to the middle, sqrt(2)."""
    for centre, position in ((0.0, 0.0), (1.0, 0.5), (2.0, 1.0)):
        result = relative_test(normal(1, 2.0), normal(2, 0.0), normal(3, centre))
        expected = stats.norm.cdf((centre - 1.0) * np.sqrt(2.0))
        assert result.unlearned.value == pytest.approx(expected, abs=0.09)
        assert result.position == pytest.approx(position, abs=0.1)
        assert result.unlearned.lower < result.unlearned.value < result.unlearned.upper


def test_models_that_do_not_differ_have_no_position():
    result = relative_test(normal(1, 0.0), normal(2, 0.0), normal(3, 5.0))
    assert result.position is None
    assert "says nothing" in result.summary()


def test_methods_lie_where_they_must():
    def models(method, side, seed):
        mechanism = Unlearning(n_records=60, n_forget=12, steps=60, method=method)
        return mechanism.release(mechanism.worst_case().side(side), 200, np.random.default_rng(seed)).values

    original, retrained = models("nothing", 1, 0), models("retraining", 0, 1)
    positions = {
        method: relative_test(original, retrained, models(method, 1, 2)).position
        for method in ("nothing", "retraining", "newton")
    }
    assert positions["nothing"] > 0.9
    assert abs(positions["retraining"]) < 0.1
    assert positions["newton"] < 0.5


def test_too_few_models_and_other_shapes_are_refused():
    with pytest.raises(ParameterError, match="retrained must have at least 60 models"):
        relative_test(normal(1, 2.0), normal(2, 0.0, 59), normal(3, 0.0))
    with pytest.raises(ParameterError, match="unlearned must have the shape of an original model"):
        relative_test(normal(1, 2.0), normal(2, 0.0), normal(3, 0.0)[:, :1])
