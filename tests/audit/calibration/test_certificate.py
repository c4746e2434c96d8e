"""The certificate catches what is no bound, and accepts what is one."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy import integrate, stats
from tests.audit import calls

from dpassay.audit.bounds.base import LowerBound, PairBound
from dpassay.audit.bounds.catalogue import catalogue
from dpassay.audit.bounds.numerics.binomial import lower, upper
from dpassay.audit.bounds.numerics.rectangle import Rectangle
from dpassay.audit.bounds.pair.clopper_pearson import ClopperPearson
from dpassay.audit.bounds.pair.simultaneous import FixedSimultaneousBand, SimultaneousBand
from dpassay.audit.calibration import methods
from dpassay.audit.calibration.certificate import Certificate, CertificatePlan, CertificateSetting, certify
from dpassay.audit.calibration.laws import (
    SubsampledGaussianDP,
    all_equal,
    gaussian,
    geometric,
    k_ary_randomized_response,
    laplace,
    laplace_ratio,
    randomized_response,
    subsampled_gaussian,
)
from dpassay.audit.calibration.methods import (
    BOUND,
    PEER,
    UNCORRECTED,
    BoundMethod,
    CoverageSetup,
    LargestClopperPearson,
    LargestKatz,
    Number,
    Sample,
    _in_order,
    catalogue_methods,
    uncorrected,
)
from dpassay.audit.evidence.scores import PairCounts, PairScores, Tally
from dpassay.mechanisms.accounting import ExactDP
from dpassay.mechanisms.core import ParameterError, UnknownNameError

TINY = CertificatePlan(
    "tiny",
    (
        CertificateSetting(randomized_response(1.0), (0.0,), ((100, 100), (20, 400)), 60, few=10),
        CertificateSetting(geometric(0.7), (0.0, 0.05), ((100, 100),), 60, few=8),
        CertificateSetting(laplace_ratio(1.0), (0.0,), ((200, 200),), 60, few=10),
        CertificateSetting(randomized_response(1.0, 0.1), (0.1,), ((100, 100),), 60, few=8),
        CertificateSetting(all_equal(), (0.0,), ((20, 20),), 60, few=8),
    ),
    numbers=2,
)


class _ForgotTheThresholds(calls.Own, PairBound):
    """The best of all thresholds, each at the full level: what a bound must not do."""

    name: ClassVar[str] = "forgot-the-thresholds"

    def lower_bound_at(self, scores, *, delta, confidence):
        tally = scores.tally
        limits = Rectangle.at(
            tally.hits_out, tally.hits_in, n_out=tally.n_out, n_in=tally.n_in, significance=(1.0 - confidence) / 2
        )
        best = float(limits.epsilon_lower(delta).max())
        return LowerBound(best, delta, confidence, self.name, scores.n_out + scores.n_in, math.inf)


class _ForgotDelta(calls.Own, SimultaneousBand):
    """The bound at delta 0, whatever delta is calls for."""

    name: ClassVar[str] = "forgot-delta"

    def lower_bound_at(self, scores, *, delta, confidence):
        return calls.lower_bound(SimultaneousBand(), scores, delta=0.0, confidence=confidence)


def question(law, delta=0.0, confidence=0.8, n=60):
    rng = np.random.default_rng(3)
    return CoverageSetup(law, delta, confidence, n, n, next(law.draws(rng, 500, 500)))


def sample(law, n_pilot=20, n=40, seed=0):
    rng = np.random.default_rng(seed)
    return Sample(next(law.draws(rng, n_pilot, n_pilot)), next(law.draws(rng, n, n)), rng)


# --- what is a bound passes, what is none fails ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def tiny():
    return certify(TINY, [*catalogue_methods(), *uncorrected()], seed=0)


def test_every_bound_of_the_catalogue_keeps_its_level(tiny):
    assert tiny.holds, tiny.failures
    assert {"clopper-pearson", "clopper-pearson, known event", "simultaneous-band"} <= set(tiny.methods)


def test_uncorrected_maximum_misses_and_does_not_fail_the_certificate(tiny):
    caught = [cell for cell in tiny.of("uncorrected katz-log") if not cell.holds]
    assert caught
    assert all(cell.kind == UNCORRECTED for cell in caught)


@pytest.mark.usefixtures("without_refusals")
def test_bound_on_independent_canaries_has_a_row_where_its_assumption_holds():
    plan = CertificatePlan("bits", (CertificateSetting(gaussian(1.0), (1e-5,), ((60, 60),), 120),), numbers=120)
    certificate = certify(plan, catalogue_methods(("one-run-independent", "clopper-pearson")), seed=1)
    cells = certificate.of("one-run-independent")
    assert certificate.holds, certificate.failures
    assert [(cell.confidence, cell.repeats) for cell in cells] == [(0.8, 120), (0.95, 120)]
    assert cells[0].mean > 1.5 > certificate.of("clopper-pearson")[0].mean
    assert cells[0].miss_rate > 0.1  # close to its level


@pytest.mark.parametrize(
    ("twin", "law", "delta"),
    [(_ForgotTheThresholds(), laplace(1.0), 0.0), (_ForgotDelta(), randomized_response(1.0, 0.1), 0.1)],
    ids=["thresholds", "delta"],
)
def test_bound_that_forgot_a_correction_fails_the_certificate(twin, law, delta):
    plan = CertificatePlan("broken", (CertificateSetting(law, (delta,), ((400, 400),), 250),))
    certificate = certify(plan, [BoundMethod(twin), BoundMethod(SimultaneousBand())], seed=1)
    assert not certificate.holds
    assert {cell.method for cell in certificate.failures} == {twin.name}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "deltas"),
    [
        (laplace(1.0), (0.0,)),
        (laplace_ratio(1.0), (0.0,)),
        (geometric(0.7), (0.0,)),
        (randomized_response(1.0), (0.0,)),
        (k_ary_randomized_response(2.0, 8), (0.0,)),
        (randomized_response(1.0, 0.1), (0.1,)),
        (gaussian(1.0), (1e-5, 0.1)),
        (subsampled_gaussian(0.7, 0.3), (0.01,)),
        (all_equal(), (0.0,)),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_every_bound_keeps_its_level_in_two_thousand_audits(law, deltas):
    few = 20 if law.name.startswith("subsampled") else 200  # of the slow methods
    plan = CertificatePlan(
        "long",
        (CertificateSetting(law, deltas, ((20, 20), (300, 300), (20, 1_000), (1_000, 20)), 2_000, few=few),),
        numbers=5,
    )
    certificate = certify(plan, catalogue_methods(), seed=2)
    assert certificate.holds, certificate.failures


# --- numbers -------------------------------------------------------------------------------------------------


def test_limit_shares_one_in_a_million_over_all_cells_of_bounds():
    plan = CertificatePlan("one", (CertificateSetting(randomized_response(1.0), (0.0,), ((50, 50),), 400),))
    certificate = certify(plan, [BoundMethod(SimultaneousBand()), LargestKatz()], seed=1)
    n_bounds = 2  # two confidences of one bound
    for cell in certificate.bounds:
        tail = stats.binom.sf([cell.allowed, cell.allowed - 1], cell.repeats, cell.significance)
        assert tail[0] <= 1e-6 / n_bounds < tail[1]


def test_cells_report_misses_means_and_exact_intervals():
    class Reports:
        name, kind, slow = "reports", BOUND, False

        def measure(self, question):
            return Number(lambda sample: float(sample.whole.n_out) if next(numbers) < 3 else 0.5)

    numbers = iter([*range(10), *range(10)])
    plan = CertificatePlan(
        "by hand", (CertificateSetting(randomized_response(1.0), (0.0,), ((20, 30),), 10),), confidences=(0.95,)
    )
    (cell,) = certify(plan, [Reports()], seed=0).cells
    assert (cell.misses, cell.repeats, cell.n_out, cell.n_in) == (3, 10, 20, 30)
    assert cell.mean == pytest.approx((3 * 20 + 7 * 0.5) / 10)
    assert cell.interval == (float(lower(3, 10, 0.025)), float(upper(3, 10, 0.025)))
    assert cell.interval == pytest.approx((0.0667395, 0.6524529), abs=1e-6)  # stats.binomtest(3, 10).proportion_ci()


@dataclass(frozen=True)
class _FixedSlow(FixedSimultaneousBand):
    lie: float

    def exceeds_claim(self, evidence):
        return self.lower_bound(evidence).epsilon > self.statement.epsilon - self.lie


class _Slow(SimultaneousBand):
    """Tells separately whether it exceeds a number; `lie` makes the two disagree."""

    name: ClassVar[str] = "slow"
    lie: ClassVar[float] = 0.0

    def fix(self, statement, pilot, sizes):
        return _FixedSlow(statement, self.lie)


class _SlowAndWrong(_Slow):
    lie: ClassVar[float] = 10.0


def test_slow_method_runs_in_few_audits_and_reports_numbers_in_fewer(monkeypatch):
    monkeypatch.setattr(methods, "SLOW_BOUNDS", (*methods.SLOW_BOUNDS, "slow"))
    plan = CertificatePlan(
        "few", (CertificateSetting(laplace(1.0), (0.0,), ((40, 40),), 600, few=300),), (0.8,), numbers=20
    )
    slow, quick, wrong = certify(
        plan, [BoundMethod(b) for b in (_Slow(), SimultaneousBand(), _SlowAndWrong())], seed=3
    ).cells
    assert (slow.repeats, slow.numbers) == (300, 20)
    assert (quick.repeats, quick.numbers) == (600, 600)
    assert slow.holds
    assert wrong.misses == wrong.repeats == 300  # what `exceeds` says counts, also where the number was low
    none = certify(
        CertificatePlan("none", (CertificateSetting(laplace(1.0), (0.0,), ((40, 40),), 5, few=0),)),
        [BoundMethod(_Slow())],
        seed=3,
    )
    assert none.cells == ()


def test_numbers_do_not_depend_on_workers_or_on_what_else_is_measured():
    plan = CertificatePlan(
        "two",
        (
            CertificateSetting(laplace_ratio(1.0), (0.0,), ((40, 40), (20, 60)), 12),
            CertificateSetting(geometric(0.7), (0.0,), ((30, 30),), 12),
        ),
    )
    methods = [BoundMethod(ClopperPearson()), BoundMethod(SimultaneousBand())]
    one, two = certify(plan, methods, seed=4), certify(plan, methods, seed=4, n_jobs=2)
    assert one == two
    single = certify(CertificatePlan("two", plan.settings[1:]), methods[1:], seed=4)
    assert [(c.mean, c.misses) for c in single.cells] == [
        (c.mean, c.misses) for c in one.of("simultaneous-band") if c.law.startswith("geometric")
    ]
    assert certify(plan, methods, seed=5).cells[0].mean != one.cells[0].mean


def test_json_form_holds_every_cell(tiny):
    data = tiny.to_dict()
    assert len(data["cells"]) == len(tiny.cells)
    assert data["cells"][0]["method"] == tiny.cells[0].method
    assert Certificate.from_json(tiny.to_json()) == tiny


# --- methods -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", [randomized_response(1.0), geometric(0.7), laplace_ratio(1.0), laplace(1.0)])
def test_remembered_numbers_are_those_of_the_bound_itself(law):
    ask = question(law)
    level = {"delta": 0.0, "confidence": 0.8}
    measures = [BoundMethod(bound).measure(ask) for bound in (ClopperPearson(), SimultaneousBand())]
    for seed in range(30):
        one = sample(law, seed=seed)
        chosen = calls.prepared(ClopperPearson(), one.pilot, **level, n_out=40, n_in=40)
        rest, whole = _in_order(one.rest, np.random.default_rng(1)), _in_order(one.whole, np.random.default_rng(1))
        assert measures[0](one) == calls.lower_bound(chosen, rest, **level).epsilon
        assert measures[1](one) == calls.lower_bound(SimultaneousBand(), whole, **level).epsilon


def test_known_event_costs_no_trials():
    method = BoundMethod(ClopperPearson(), known=True)
    ask = question(laplace_ratio(1.0))
    one = sample(laplace_ratio(1.0))
    fixed = calls.prepared(ClopperPearson(), ask.rehearsal, delta=0.0, confidence=0.8, n_out=60, n_in=60)
    assert method.measure(ask)(one) == calls.lower_bound(fixed, one.whole, delta=0.0, confidence=0.8).epsilon


def test_bound_that_reads_scores_one_by_one_gets_them_in_random_order():
    received = []

    class Ordered(calls.Own, SimultaneousBand):
        anytime: ClassVar[bool] = True

        def lower_bound_at(self, scores, **level):
            received.append(scores)
            return calls.lower_bound(SimultaneousBand(), scores, **level)

    law = geometric(0.7)
    one = sample(law, n=400)
    BoundMethod(Ordered()).measure(question(law))(one)
    (scores,) = received
    assert isinstance(scores, PairScores)
    assert one.whole.hits(0.0) == scores.hits(0.0)
    assert not (np.diff(scores.out) <= 0).all()
    assert not (np.diff(scores.out) >= 0).all()


def test_whole_sample_is_pilot_and_rest():
    for law in (geometric(0.7), laplace(1.0)):
        one = sample(law)
        for threshold in (0.0, 1.0):
            parts = [_in_order(part, np.random.default_rng(0)).hits(threshold) for part in (one.pilot, one.rest)]
            whole = _in_order(one.whole, np.random.default_rng(0)).hits(threshold)
            assert whole == tuple(np.sum(parts, axis=0))


def counted(hits_out, hits_in, n):
    thresholds = np.arange(1.0 + len(hits_out))
    counts = Tally(thresholds, np.array([n, *hits_out]), np.array([n, *hits_in]), n, n)
    nothing = Tally(thresholds, np.zeros(len(thresholds), int), np.zeros(len(thresholds), int), 0, 0)
    return Sample(PairCounts(nothing), PairCounts(counts), np.random.default_rng(0))


def test_katz_log_at_one_event_is_the_published_formula():
    setup = CoverageSetup(randomized_response(1.0), 0.0, 0.95, 1000, 1000, None)
    expected = math.log(0.5 / 0.184) - stats.norm.ppf(0.95) * math.sqrt(0.5 / 500 + 0.816 / 184)  # Katz et al. 1978
    assert LargestKatz().measure(setup)(counted([184], [500], 1000)) == pytest.approx(expected, abs=1e-12)
    assert expected == pytest.approx(0.878409, abs=1e-5)
    assert LargestKatz().measure(setup)(counted([0], [9], 1000)) == pytest.approx(
        max(0.0, math.log(1.0 / 0.991) - stats.norm.ppf(0.95) * math.sqrt(0.009 / (0.991 * 1000)))
    )


@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_largest_clopper_pearson_is_the_largest_over_all_thresholds(delta):
    law = laplace(1.0)
    one = sample(law)
    largest = LargestClopperPearson().measure(question(law, delta=delta))(one)
    each = [
        calls.lower_bound(ClopperPearson(threshold=t), one.whole, delta=delta, confidence=0.8).epsilon
        for t in one.whole.tally.thresholds
    ]
    assert largest == pytest.approx(max(each), abs=1e-12)
    assert largest > 0.0


def test_methods_are_those_of_the_catalogue_that_read_pairs_of_scores():
    names = {method.name.removesuffix(", known event") for method in catalogue_methods()}
    assert names <= set(catalogue)
    assert {"clopper-pearson", "simultaneous-band"} <= names
    assert len({BOUND, UNCORRECTED, PEER}) == 3
    with pytest.raises(UnknownNameError, match="simultaneous-band"):
        catalogue_methods(("simultaneous-bond",))


def test_impossible_plans_are_refused():
    with pytest.raises(ParameterError, match="n_out must be a whole number >= 10"):
        CertificateSetting(laplace(1.0), (0.0,), ((9, 20),), 10)
    with pytest.raises(ParameterError, match="must not be empty"):
        CertificateSetting(laplace(1.0), (), ((20, 20),), 10)
    with pytest.raises(ParameterError, match="repeats"):
        CertificateSetting(laplace(1.0), (0.0,), ((20, 20),), 0)
    with pytest.raises(ParameterError, match="methods must contain"):
        certify(TINY, [], seed=0)


# --- laws -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("noise", "rate"), [(1.0, 0.1), (0.5, 0.2), (0.7, 0.3), (2.0, 1.0)])
def test_subsampled_gaussian_curve_is_the_integral_of_the_excess_density(noise, rate):
    law = SubsampledGaussianDP(noise, rate)

    def density(x):
        return stats.norm.pdf(x, 0.0, noise), (1 - rate) * stats.norm.pdf(x, 0, noise) + rate * stats.norm.pdf(
            x, 1, noise
        )

    for epsilon in (0.0, 0.05, 0.3, 1.0, 2.0):
        x = np.linspace(-14 * noise, 1 + 14 * noise, 400_001)
        p, q = density(x)
        grow = math.exp(epsilon)
        both = [integrate.trapezoid(np.maximum(a - grow * b, 0.0), x) for a, b in ((p, q), (q, p))]
        assert law.delta(epsilon) == pytest.approx(max(both), abs=1e-8)


def test_subsampled_gaussian_agrees_with_its_accountant():
    law = subsampled_gaussian(0.7, 0.3)
    for delta in (1e-5, 0.01, 0.1):
        assert law.curve.epsilon(delta) == pytest.approx(law.claim.epsilon(delta), abs=3e-4)
        assert law.curve.epsilon(delta) <= law.claim.epsilon(delta) + 1e-9  # an accountant errs on the safe side


def test_subsampled_gaussian_draws_from_what_it_states():
    rng = np.random.default_rng(1)
    drawn = next(subsampled_gaussian(0.5, 0.2).draws(rng, 200_000, 200_000))
    assert drawn.in_.mean() == pytest.approx(0.2, abs=0.01)
    assert drawn.out.std() == pytest.approx(0.5, abs=0.01)
    assert drawn.in_.std() == pytest.approx(math.sqrt(0.25 + 0.16), abs=0.01)


def test_k_ary_law_is_the_exact_law_of_its_three_kinds_of_answer():
    law = k_ary_randomized_response(2.0, 8)
    assert law.curve.epsilon(0.0) == pytest.approx(2.0)
    lie = 1.0 / (math.exp(2.0) + 7.0)
    full = np.full(8, lie)
    p_out, p_in = full.copy(), full.copy()
    p_out[0], p_in[1] = (math.exp(2.0) * lie,) * 2
    for epsilon in (0.0, 0.5, 1.5):
        assert law.curve.delta(epsilon) == pytest.approx(ExactDP(p_out, p_in).delta(epsilon), abs=1e-12)
