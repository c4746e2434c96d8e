"""Releases of the real OpenDP and diffprivlib, audited: run by `make test-adapters`, skipped where they are missing."""

import contextlib
import io

import numpy as np
import pytest
from tests.adapters.adapter_page import blocks, said

from dpassay.audit import Verdict, audit
from dpassay.mechanisms import ConcentratedDP, Neighbours, PureDP
from dpassay.mechanisms.adapters.measurements import diffprivlib_mechanism, diffprivlib_tool, opendp_measurement
from dpassay.mechanisms.core import NeighboursError, ParameterError

RECORDS = np.array([0.2, 0.9, 0.4, 0.0])
CHANGED = np.array([0.2, 0.9, 0.4, 1.0])
REPLACED = Neighbours(RECORDS, CHANGED, "replace_one")
TRIALS = 2_000
CONFIDENCE = 1 - 1e-6


def opendp():
    dp = pytest.importorskip("opendp.prelude", reason="needs the extra opendp", exc_type=ImportError)
    dp.enable_features("contrib", "honest-but-curious")
    return dp


def diffprivlib():
    return pytest.importorskip("diffprivlib", reason="needs the extra diffprivlib", exc_type=ImportError)


def of_opendp():
    """Name -> measurement, input 0, input 1, delta of the claim."""
    dp = opendp()
    real, whole = dp.atom_domain(T=float, nan=False), dp.atom_domain(T=int)
    distance, count = dp.absolute_distance(T=float), dp.absolute_distance(T=int)
    l1 = dp.l1_distance(T=float)
    reals, wholes = dp.vector_domain(real), dp.vector_domain(whole)
    gaussian = dp.m.make_gaussian(real, distance, scale=1.0)
    selection = wholes, dp.linf_distance(T=int), dp.max_divergence()
    return {
        "laplace": (dp.m.make_laplace(real, distance, scale=1.0), 0.0, 1.0, None),
        "laplace of a vector": (dp.m.make_laplace(reals, l1, scale=1.0), [0.0, 1.0], [1.0, 1.0], None),
        "discrete laplace": (dp.m.make_laplace(whole, count, scale=1.0), 0, 1, None),
        "geometric": (dp.m.make_geometric(whole, count, scale=2.0), 5, 7, None),
        "gaussian": (gaussian, 0.0, 1.0, 1e-3),
        "discrete gaussian": (dp.m.make_gaussian(whole, count, scale=1.0), 0, 1, 1e-3),
        "gaussian of a vector": (
            dp.m.make_gaussian(reals, dp.l2_distance(T=float), scale=2.0), [0.0, 0.0], [1.0, 1.0], 1e-3,
        ),
        "gaussian as approximate": (dp.c.make_zCDP_to_approxDP(gaussian), 0.0, 1.0, 1e-3),
        "randomised response": (dp.m.make_randomized_response_bool(prob=0.75), False, True, None),
        "k-ary response": (dp.m.make_randomized_response(["a", "b", "c"], prob=0.6), "a", "b", None),
        "noisy max": (dp.m.make_noisy_max(*selection, scale=2.0), [3, 3, 3], [2, 4, 4], None),
        "noisy top-k": (dp.m.make_noisy_top_k(*selection, k=2, scale=4.0), [3, 3, 3], [2, 4, 4], None),
        "canonical noise": (dp.m.make_canonical_noise(real, distance, d_in=1.0, d_out=(1.0, 1e-3)), 0.0, 1.0, None),
    }  # fmt: skip


def of_diffprivlib():
    """Name -> what is audited, made by the adapter."""
    library = diffprivlib()
    m, tools = library.mechanisms, library.tools

    def chosen(kind, utility):
        return kind(epsilon=1.0, sensitivity=1.0, utility=utility)

    numeric = {
        "Laplace": m.Laplace(epsilon=1.0, sensitivity=1.0),
        "LaplaceTruncated": m.LaplaceTruncated(epsilon=1.0, sensitivity=1.0, lower=0.0, upper=3.0),
        "LaplaceFolded": m.LaplaceFolded(epsilon=1.0, sensitivity=1.0, lower=0.0, upper=3.0),
        "LaplaceBoundedDomain": m.LaplaceBoundedDomain(epsilon=1.0, delta=0.0, sensitivity=1.0, lower=0.0, upper=3.0),
        "Gaussian": m.Gaussian(epsilon=0.9, delta=1e-3, sensitivity=1.0),
        "GaussianAnalytic": m.GaussianAnalytic(epsilon=1.0, delta=1e-3, sensitivity=1.0),
        "Staircase": m.Staircase(epsilon=1.0, sensitivity=1.0),
        "Uniform": m.Uniform(delta=0.25, sensitivity=1.0),
        "Snapping": m.Snapping(epsilon=1.0, sensitivity=1.0, lower=0.0, upper=3.0),
    }
    whole = {
        "Geometric": m.Geometric(epsilon=1.0, sensitivity=1),
        "GeometricTruncated": m.GeometricTruncated(epsilon=1.0, sensitivity=1, lower=0, upper=5),
        "GaussianDiscrete": m.GaussianDiscrete(epsilon=1.0, delta=1e-3, sensitivity=1),
    }
    made = {name: diffprivlib_mechanism(one, 1.0, 2.0) for name, one in numeric.items()}
    made |= {name: diffprivlib_mechanism(one, 1, 2) for name, one in whole.items()}
    binary = m.Binary(epsilon=1.0, value0="no", value1="yes")
    made["Binary"] = diffprivlib_mechanism(binary, "no", "yes")
    for kind in (m.Exponential, m.PermuteAndFlip):
        pair = chosen(kind, [0.0, 1.0, 1.0]), chosen(kind, [1.0, 0.0, 0.0])
        made[kind.__name__] = diffprivlib_mechanism(pair[0], *pair)
    made["mean"] = diffprivlib_tool(tools.mean, REPLACED, epsilon=1.0, bounds=(0.0, 1.0))
    made["sum"] = diffprivlib_tool(tools.sum, REPLACED, epsilon=1.0, bounds=(0.0, 1.0))
    made["var"] = diffprivlib_tool(tools.var, REPLACED, epsilon=1.0, bounds=(0.0, 1.0))
    made["median"] = diffprivlib_tool(tools.median, REPLACED, epsilon=1.0, bounds=(0.0, 1.0))
    return made


OPENDP = ("laplace", "laplace of a vector", "discrete laplace", "geometric", "gaussian", "discrete gaussian",
    "gaussian of a vector", "gaussian as approximate", "randomised response", "k-ary response", "noisy max",
    "noisy top-k", "canonical noise")  # fmt: skip
PROFILES = ("gaussian as approximate",)
"""Measurements whose map is a privacy profile."""
DIFFPRIVLIB = ("Laplace", "LaplaceTruncated", "LaplaceFolded", "LaplaceBoundedDomain", "Gaussian", "GaussianAnalytic",
    "Staircase", "Uniform", "Snapping", "Geometric", "GeometricTruncated", "GaussianDiscrete", "Binary", "Exponential",
    "PermuteAndFlip", "mean", "sum", "var", "median")  # fmt: skip


def audited(mechanism, delta, trials=TRIALS):
    return audit(mechanism, delta=delta, trials=trials, confidence=CONFIDENCE, seed=0)


def test_every_release_is_in_the_table():
    assert set(of_opendp()) == set(OPENDP)
    assert set(of_diffprivlib()) == set(DIFFPRIVLIB)


@pytest.mark.parametrize("name", OPENDP)
def test_measurements_of_opendp_keep_what_their_map_promises(name):
    measurement, d0, d1, delta = of_opendp()[name]
    profile = delta if name in PROFILES else None
    result = audited(opendp_measurement(measurement, d0, d1, delta=profile), delta)
    assert result.verdict is Verdict.CONSISTENT
    assert result.bound.epsilon > 0.1 * result.claim  # a weak attack would prove nothing


@pytest.mark.parametrize("name", DIFFPRIVLIB)
def test_mechanisms_and_tools_of_diffprivlib_keep_what_they_state(name):
    result = audited(of_diffprivlib()[name], None)
    assert result.verdict is Verdict.CONSISTENT


def test_half_of_what_a_map_promises_is_refuted():
    measurement, d0, d1, _ = of_opendp()["laplace"]
    result = audit(opendp_measurement(measurement, d0, d1), claim=PureDP(0.5), trials=TRIALS, seed=0)
    assert result.verdict is Verdict.VIOLATION


def test_the_promise_is_read_from_the_library():
    result = of_opendp()
    assert opendp_measurement(*result["laplace"][:3]).guarantee() == PureDP(1.0)
    assert opendp_measurement(result["laplace"][0], 0.0, 3.0).guarantee() == PureDP(3.0)
    assert opendp_measurement(*result["gaussian"][:3]).guarantee() == ConcentratedDP(0.5)
    assert opendp_measurement(*result["geometric"][:3]).guarantee() == PureDP(1.0)
    curve = opendp_measurement(*result["gaussian as approximate"][:3], delta=1e-3).guarantee()
    assert curve.epsilon(1e-3) == pytest.approx(ConcentratedDP(0.5).epsilon(1e-3), rel=0.02)
    assert of_diffprivlib()["mean"].guarantee() == PureDP(1.0)


def test_pairs_and_deltas_that_say_nothing_are_refused():
    result = of_opendp()
    with pytest.raises(NeighboursError, match="lie 0 apart in the metric AbsoluteDistance"):
        opendp_measurement(result["laplace"][0], 1.0, 1.0)
    with pytest.raises(ParameterError, match="delta is missing"):
        opendp_measurement(*result["gaussian as approximate"][:3])
    for name in ("laplace", "gaussian", "canonical noise"):
        with pytest.raises(ParameterError, match=r"delta=0.001 is for a measurement whose map gives a privacy profile"):
            opendp_measurement(*result[name][:3], delta=1e-3)
    mechanism = diffprivlib().mechanisms.Laplace(epsilon=1.0, sensitivity=1.0)
    with pytest.raises(NeighboursError, match="2 apart, but the mechanism has a sensitivity of 1"):
        diffprivlib_mechanism(mechanism, 0.0, 2.0)


def clamped_sum(metric, size=None):
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(T=int), size=size), metric
    return space >> dp.t.then_clamp((0, 10)) >> dp.t.then_sum() >> dp.m.then_laplace(scale=10.0)


def test_pairs_are_measured_in_the_metric_of_the_measurement():
    dp = opendp()
    multiset, ordered = clamped_sum(dp.symmetric_distance()), clamped_sum(dp.insert_delete_distance())
    for measurement in (multiset, ordered):
        assert opendp_measurement(measurement, [1, 2], [1, 2, 3]).guarantee() == PureDP(1.0)
        replaced = opendp_measurement(measurement, [1, 2], [1, 3], relation="replace_one")
        assert replaced.guarantee() == PureDP(2.0)
        with pytest.raises(NeighboursError, match=r"lie 2 apart .* Give relation='replace_one'"):
            opendp_measurement(measurement, [1, 2], [1, 3])
    assert opendp_measurement(multiset, [1, 2, 3], [3, 2, 1, 4]).guarantee() == PureDP(1.0)
    with pytest.raises(NeighboursError, match=r"lie 5 apart .* in which the order of records counts"):
        opendp_measurement(ordered, [1, 2, 3], [3, 2, 1, 4])


def test_metrics_of_one_size_know_no_added_record():
    dp = opendp()
    for metric in (dp.change_one_distance(), dp.hamming_distance()):
        measurement = dp.m.make_user_measurement(
            dp.vector_domain(dp.atom_domain(T=int)), metric, dp.max_divergence(), sum, lambda distance: float(distance)
        )
        assert opendp_measurement(measurement, [1, 2], [1, 3], relation="replace_one").guarantee() == PureDP(1.0)
        with pytest.raises(NeighboursError, match="relation='add_remove' has no distance in the metric"):
            opendp_measurement(measurement, [1, 2], [1, 2, 3])
        with pytest.raises(NeighboursError, match="lie inf apart"):
            opendp_measurement(measurement, [1, 2], [1, 2, 3], relation="replace_one")


def test_the_page_in_the_docs_says_what_happens():
    opendp()
    diffprivlib()
    code = blocks("Measurements")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, {})
    assert printed.getvalue().splitlines() == said(code)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ModuleNotFoundError("No module named 'diffprivlib'", name="diffprivlib"), "is not installed"),
        (ImportError("cannot import name '_fit' from 'sklearn'"), r"cannot be imported \(cannot import name"),
        (ModuleNotFoundError("No module named 'sklearn.x'", name="sklearn.x"), r"cannot be imported \(No module"),
    ],
)
def test_an_import_error_of_diffprivlib_names_the_cure(error, reason, monkeypatch):
    def failing(name):
        raise error

    monkeypatch.setattr("dpassay.mechanisms.adapters.measurements.import_module", failing)
    pair = Neighbours(np.zeros(3), np.ones(3), "replace_one")
    with pytest.raises(ParameterError, match=rf"{reason}.*scikit-learn<1\.8.*\[diffprivlib\]") as caught:
        diffprivlib_tool(np.mean, pair, epsilon=1.0)
    assert caught.value.__cause__ is error
