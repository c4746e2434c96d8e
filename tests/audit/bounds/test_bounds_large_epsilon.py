"""Claims of weak noise: every bound is a number for all evidence, and whole audits end in a verdict."""

import math

import numpy as np
import pytest

from dpassay.audit import Verdict, audit
from dpassay.audit.bounds.bits.one_run import _guess_p_value
from dpassay.audit.bounds.catalogue import build, catalogue
from dpassay.audit.bounds.families import family_of
from dpassay.audit.bounds.numerics.rectangle import Rectangle
from dpassay.audit.bounds.numerics.unconditional import Ordering, UnconditionalTest
from dpassay.audit.evidence.scores import BitScores, PairScores, Successes
from dpassay.audit.evidence.statement import Statement
from dpassay.mechanisms import Laplace
from dpassay.mechanisms.accounting import ApproximateDP, GaussianDP, LaplaceDP, PureDP
from dpassay.mechanisms.core import ParameterError
from dpassay.mechanisms.learning.dp_sgd.mechanism import DPSGD
from dpassay.mechanisms.learning.models.architectures import LogisticRegression
from dpassay.mechanisms.literature.local import HadamardResponse
from dpassay.mechanisms.literature.pate import GNMax, LNMax
from dpassay.mechanisms.literature.shuffle import Shuffled
from dpassay.mechanisms.local import KAryRandomizedResponse, RandomizedResponse
from dpassay.mechanisms.selection import Exponential, PermuteAndFlip

EPSILONS = (1e-6, 351.0, 709.0, 800.0, 1e6)
SECONDS_EACH = {"one-run-fdp": (351.0, 1e6), "one-run-independent": (1e-6, 1e6)}
N = 60


def evidence(kind):
    """Return evidence with perfect separation, with none, and with ties."""
    rng = np.random.default_rng(0)
    if kind == "PairScores":
        pairs = [(np.zeros(N), np.ones(N)), (rng.normal(size=N), rng.normal(size=N)), (np.zeros(N), np.zeros(N))]
        return [PairScores(*pair) for pair in pairs]
    if kind == "BitScores":
        bits = rng.integers(0, 2, (1, N))
        return [BitScores(bits, scores) for scores in (1.0 * bits, rng.normal(size=(1, N)), np.zeros((1, N)))]
    return [Successes(right, N, 0.1) for right in (0, 6, N)]


def weak_training():
    """DP-SGD with noise multiplier 0.3."""
    sampled = {"batch_size": 1, "sampling_probability": 0.5}
    return DPSGD(LogisticRegression(2), steps=30, noise_multiplier=0.3, **sampled)


@pytest.mark.parametrize("name", list(catalogue))
def test_every_bound_is_a_number_at_every_claim(name):
    bound = build(name)
    for epsilon in SECONDS_EACH.get(name, EPSILONS):
        claims = PureDP(epsilon), LaplaceDP(epsilon), ApproximateDP(epsilon, 1e-5), GaussianDP(math.sqrt(epsilon))
        for claim in claims:
            stated = Statement(claim, claim.default_delta or 1e-5)
            for scores in evidence(bound.reads.__name__):
                fixed = bound.fix(stated, scores, scores.sizes[:1] if isinstance(scores, BitScores) else scores.sizes)
                lower_bound, p = fixed.lower_bound(scores), fixed.p_value(scores)
                assert 0.0 <= lower_bound.epsilon <= lower_bound.ceiling + 1e-6
                assert math.isfinite(lower_bound.ceiling)
                assert 0.0 < p <= 1.0
                if epsilon > 100.0:  # what so few trials cannot contradict
                    assert p == pytest.approx(1.0)
                    assert not fixed.exceeds_claim(scores)
                    assert fixed.curve_test(scores) is None


@pytest.mark.parametrize(
    ("mechanism", "delta"),
    [
        (Laplace(400.0), 0.0),
        (Laplace(1e6), 0.0),
        (LNMax(200.0, n_teachers=6, n_classes=3), 0.0),
        (GNMax(0.05, n_teachers=6, n_classes=3), 1e-5),
        (RandomizedResponse(1e4), 0.0),
        (KAryRandomizedResponse(745.0, 5), 0.0),
        (HadamardResponse(800.0, 4), 0.0),
        (Exponential(711.0, 3), 0.0),
        (PermuteAndFlip(1e4, 3), 0.0),
        (Shuffled(RandomizedResponse(400.0), 5), 1e-5),
        (Shuffled(RandomizedResponse(1e4), 5), 1e-5),
        pytest.param(weak_training(), 1e-5, marks=pytest.mark.slow),
    ],
)
def test_audits_of_weak_noise_end_in_a_verdict(mechanism, delta):
    result = audit(mechanism, trials=200, seed=0, delta=delta)
    assert result.verdict in (Verdict.UNDERPOWERED, Verdict.CONSISTENT)
    assert 0.0 < result.bound.epsilon < 6.0
    assert result.claim > 100.0


@pytest.mark.parametrize(
    "bound", ["betting", "joint-exact", "simultaneous-band", "clopper-pearson", "accountant-family"]
)
def test_no_bound_in_the_choice_fails_where_epsilon_is_800(bound):
    assert audit(Laplace(800.0), trials=200, seed=0, bound=bound).verdict is not Verdict.VIOLATION


def test_limits_round_to_the_safe_side_where_e_to_the_epsilon_is_no_float():
    test = UnconditionalTest(N, N, 0, N, Ordering(0.05))
    assert [test.probability(epsilon, 0.0, 0.05) for epsilon in (299.0, 301.0, 1e6)] == pytest.approx(
        [1.0] * 3, rel=1e-3
    )
    assert not test.rejects(301.0, 0.0, 0.05)
    limits = Rectangle.at([0.0], [N], n_out=N, n_in=N, significance=0.05)
    assert limits.delta_lower([0.0, 700.0, 745.0, 1e6, np.inf])[1:].max() == 0.0
    assert _guess_p_value(N, N, N, epsilon=299.0, delta=0.0) == _guess_p_value(N, N, N, epsilon=1e6, delta=0.0) == 1.0


@pytest.mark.parametrize(
    ("name", "option"), [("accountant-family", 3), ("one-run-fdp", 3), ("reconstruction", 3), ("one-run-fdp", "x")]
)
def test_what_is_no_family_is_refused_by_name(name, option):
    with pytest.raises(ParameterError, match="curve_family must be a CurveFamily"):
        build(name, curve_family=option)
    assert build(name, curve_family=family_of(PureDP(1.0))).curve_family is not None
