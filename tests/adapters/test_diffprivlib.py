"""Estimators of the real diffprivlib: run by `make test-adapters`, skipped where it is not installed."""

import contextlib
import io

import numpy as np
import pytest
from tests.adapters.adapter_page import blocks, said

from dpassay.audit import audit
from dpassay.audit.evidence.verdict import Verdict
from dpassay.mechanisms import Neighbours, PureDP
from dpassay.mechanisms.adapters.private_estimator import PrivateEstimator


def draw(mechanism, side=1, size=5, seed=0):
    return mechanism.release(mechanism.neighbours.side(side), size, np.random.default_rng(seed))


def diffprivlib_regression(data_norm, **options):
    models = pytest.importorskip("diffprivlib.models", reason="needs the extra diffprivlib", exc_type=ImportError)
    return models.LogisticRegression(data_norm=data_norm, fit_intercept=False, **options)


def blank_pair(norm):
    """One informative record, whose features side 0 has as zeros, next to two that say nothing."""
    y = np.array([0, 1, 1])
    return Neighbours((np.zeros((3, 1)), y), (np.array([[0.0], [0.0], [norm]]), y), "replace_one")


def test_logistic_regression_of_diffprivlib_releases_its_coefficients():
    mechanism = PrivateEstimator(diffprivlib_regression(1.0, epsilon=2.0), blank_pair(1.0), relation="replace_one")
    assert mechanism.guarantee() == PureDP(2.0, "replace_one")
    assert draw(mechanism).values.shape == (5, 2)


def test_diffprivlib_says_that_a_norm_read_from_the_data_leaks():
    estimator = diffprivlib_regression(None)
    with pytest.warns(match=r"LogisticRegression warns: Data norm has not been specified"):
        PrivateEstimator(estimator, blank_pair(1.0), relation="replace_one")


@pytest.mark.slow
@pytest.mark.parametrize(("norm", "verdict"), [(1.0, Verdict.CONSISTENT), (1000.0, Verdict.VIOLATION)])
def test_diffprivlib_bounds_curvature_by_the_norm_instead_of_its_square(norm, verdict):
    mechanism = PrivateEstimator(diffprivlib_regression(norm, epsilon=1.0), blank_pair(norm), relation="replace_one")
    assert audit(mechanism, trials=2000, seed=1).verdict is verdict


def test_the_page_in_the_docs_says_what_happens():
    diffprivlib_regression(1.0)
    code = blocks("Private estimators")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, {})
    assert printed.getvalue().splitlines() == said(code)
