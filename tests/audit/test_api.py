"""audit() and assert_private() as a user meets them: right answers, exceptional outputs, wrong input."""

import json
import math
from dataclasses import replace
from inspect import signature
from types import SimpleNamespace

import numpy as np
import pytest

from dpassay.attacks.canaries import Mislabelled
from dpassay.attacks.membership import shadows_of
from dpassay.audit import AuditResult, Coins, PairScores, Verdict, assert_private, audit, audit_scores, search
from dpassay.audit.bounds.pair.clopper_pearson import ClopperPearson
from dpassay.audit.results import saved
from dpassay.mechanisms import (
    ApproximateDP,
    ExactDP,
    Gaussian,
    Geometric,
    KAryRandomizedResponse,
    Laplace,
    Neighbours,
    PureDP,
    RandomizedResponse,
)
from dpassay.mechanisms.core import (
    AccountingError,
    AttackError,
    CallError,
    NeighboursError,
    ParameterError,
    PrivacyViolation,
    RelationError,
    ReleaseError,
    UnknownNameError,
)
from dpassay.mechanisms.local.broken import BiasedCoinResponse
from dpassay.mechanisms.noise.broken import LaplaceInverseScale, LaplaceUnitSensitivity

pytestmark = pytest.mark.usefixtures("without_power", "few_chunks")

PAIR = Neighbours([1.0, 0.0], [1.0, 0.0, 1.0], "add_remove")


def noisy_count(dataset, size, rng):
    return sum(dataset) + rng.laplace(size=size)


def leaky_count(dataset, size, rng):
    return sum(dataset) + rng.laplace(scale=0.25, size=size)


@pytest.mark.parametrize(
    "mechanism",
    [
        Laplace(epsilon=1.0),
        Geometric(epsilon=1.0),
        RandomizedResponse(epsilon=1.0),
        KAryRandomizedResponse(epsilon=1.0, k=4),
    ],
    ids=lambda m: type(m).__name__,
)
def test_a_million_trials_reach_985_thousandths_of_epsilon(mechanism):
    result = audit(mechanism, trials=1_000_000, delta=0.0, seed=3)
    assert 0.985 <= result.bound.epsilon <= 1.0
    assert result.claim == pytest.approx(1.0, rel=1e-9)
    assert result.exact_epsilon == pytest.approx(1.0, rel=1e-9)
    assert result.verdict is Verdict.CONSISTENT


@pytest.mark.parametrize(
    "mechanism", [LaplaceInverseScale(epsilon=0.5), LaplaceUnitSensitivity(epsilon=0.5, sensitivity=3.0)]
)
def test_a_broken_mechanism_is_caught_and_its_true_epsilon_respected(mechanism):
    result = audit(mechanism, trials=50_000, seed=0)
    assert result.verdict is Verdict.VIOLATION
    assert result.claim < result.bound.epsilon <= result.exact_epsilon
    assert result.p_value <= 1e-12


def test_a_biased_coin_is_caught():
    result = audit(BiasedCoinResponse(), trials=200_000, seed=0)
    assert result.verdict is Verdict.VIOLATION
    assert result.bound.epsilon <= result.exact_epsilon


def test_a_function_is_audited_by_a_trained_classifier():
    good = audit(noisy_count, PAIR, claim=PureDP(1.0), trials=20_000, seed=1)
    bad = audit(leaky_count, PAIR, claim=PureDP(1.0), trials=20_000, seed=1)
    assert (good.verdict, bad.verdict) == (Verdict.CONSISTENT, Verdict.VIOLATION)
    assert good.attack == "portfolio"
    assert 0.85 < good.bound.epsilon <= 1.0
    assert 2.5 < bad.bound.epsilon <= 4.0


def test_assert_private_raises_with_one_screen_of_evidence_and_the_pair():
    with pytest.raises(PrivacyViolation) as caught:
        assert_private(leaky_count, PAIR, claim=PureDP(1.0), trials=5_000, seed=1)
    lines = str(caught.value).splitlines()
    assert len(lines) <= 18
    assert {"d0          [1.0, 0.0]", "d1          [1.0, 0.0, 1.0]"} <= set(lines)
    assert lines[0].startswith("VIOLATION:")
    assert isinstance(caught.value, AssertionError)
    assert caught.value.result.verdict is Verdict.VIOLATION


def raises_on_large(dataset, rng):
    if len(dataset) == 3 and rng.random() < 0.4:
        raise ValueError("too many records")
    return rng.laplace()


def nan_on_large(dataset, rng):
    return float("nan") if len(dataset) == 3 and rng.random() < 0.4 else rng.laplace()


def none_on_large(dataset, rng):
    return None if len(dataset) == 3 and rng.random() < 0.4 else "fine"


@pytest.mark.parametrize("release", [raises_on_large, nan_on_large, none_on_large])
def test_an_exceptional_output_on_one_side_only_is_a_leak(release):
    result = audit(release, PAIR, claim=PureDP(0.5), trials=1_500, seed=2)
    assert result.verdict is Verdict.VIOLATION
    assert result.bound.epsilon > 3.0
    assert any(out == 0 and in_ > 300 for out, in_ in result.events.values())


def raises_on_both(dataset, rng):
    if rng.random() < 0.3:
        raise ValueError("unlucky")
    return rng.laplace()


def test_an_exceptional_output_on_both_sides_alike_is_no_leak():
    result = audit(raises_on_both, PAIR, claim=PureDP(0.5), trials=1_500, seed=2)
    assert result.verdict is Verdict.CONSISTENT
    assert result.events["raised ValueError: unlucky"][0] > 300


def test_several_bounds_share_the_significance():
    both = audit(Laplace(epsilon=1.0), bound=["clopper-pearson", "simultaneous-band"], trials=20_000, seed=4)
    assert [b.confidence for b in both.bounds] == pytest.approx([0.975, 0.975])
    assert both.bound.epsilon == max(b.epsilon for b in both.bounds)
    assert any(entry.what == "bounds" and "Bonferroni over 2" in entry.correction for entry in both.ledger)


def test_p_value_bounds_and_curve_test_share_the_significance_alike():
    options = {"claim": PureDP(0.75), "trials": 1_000, "seed": 4}
    bounds = [ClopperPearson(threshold) for threshold in (0.999, 0.0)]
    alone = min(audit(Laplace(epsilon=1.0), bound=one, **options).p_value for one in bounds)
    p = audit(Laplace(epsilon=1.0), bound=bounds, **options).p_value
    assert p == pytest.approx(2 * alone, rel=1e-9)
    assert 1e-4 < p < 0.3
    for confidence, verdict in ((1 - 1.05 * p, Verdict.VIOLATION), (1 - p / 1.5, Verdict.CONSISTENT)):
        result = audit(Laplace(epsilon=1.0), bound=bounds, confidence=confidence, **options)
        assert result.verdict is verdict
        assert (result.curve_violation is None) == (verdict is Verdict.CONSISTENT)


def test_a_number_of_trials_may_be_written_as_on_the_command_line():
    assert audit(Laplace(epsilon=1.0), trials=1e3, seed=0) == audit(Laplace(epsilon=1.0), trials=1000, seed=0)
    for wrong in (1.5, float("nan"), float("inf"), "1e3", True, 0):
        with pytest.raises(ParameterError, match=r"trials must be a whole number >= 1, such as 1000 or 1e5, but is"):
            audit(Laplace(epsilon=1.0), trials=wrong, seed=0)


def test_few_trials_are_underpowered_not_consistent():
    result = audit(Laplace(epsilon=4.0), trials=40, seed=0)
    assert result.verdict is Verdict.UNDERPOWERED
    assert result.ceiling <= result.claim


def test_a_fixed_threshold_without_learning_counts_every_trial():
    result = audit(Laplace(epsilon=1.0), bound=ClopperPearson(threshold=0.5), trials=10_000, seed=0)
    assert result.trials.pilot == 0
    assert result.trials.evaluation == 10_000
    assert result.bound.n_trials == 20_000


def test_delta_defaults_to_that_of_the_claim_and_is_needed_otherwise():
    assert audit(Laplace(epsilon=1.0), trials=1_000, seed=0).delta == 0.0
    claim = ApproximateDP(1.0, 1e-3)
    assert audit(noisy_count, PAIR, claim=claim, trials=1_000, seed=0).delta == 1e-3
    with pytest.raises(ParameterError, match=r"delta must be given.*Try delta=1e-5"):
        audit(Gaussian(noise_multiplier=1.0), trials=1_000, seed=0)
    mechanism = Gaussian(epsilon=1.0, delta=1e-5)
    result = audit(mechanism, trials=1_000, seed=0)
    assert audit(mechanism, claim=mechanism.guarantee(), trials=1_000, seed=0) == result
    assert result.delta == 1e-5
    assert result.claim == pytest.approx(1.0, abs=1e-6)


def test_a_claim_can_be_any_guarantee():
    claim = ExactDP([0.5, 0.5], [0.6, 0.4])
    result = audit(RandomizedResponse(epsilon=1.0), claim=claim, trials=20_000, delta=0.0, seed=0)
    assert result.claim == pytest.approx(math.log(0.5 / 0.4))
    assert result.verdict is Verdict.VIOLATION


def test_scores_counted_on_a_grid_have_a_tight_bound_and_a_json_form():
    result = audit(Laplace(epsilon=1.0), trials=2_500_000, seed=0)
    again = AuditResult.from_json(result.to_json())
    assert again == result
    assert again.summary() == result.summary()
    assert 0.985 < result.bound.epsilon <= 1.0


def test_warnings_are_in_summary_evidence_and_json():
    result = replace(audit(Laplace(epsilon=1.0), trials=100, seed=0), warnings=("the trials lean on the weather.",))
    assert "warning     the trials lean on the weather." in result.summary()
    assert "warning     the trials lean on the weather." in result.summary(details=False)
    assert AuditResult.from_json(result.to_json()) == result
    old = {key: value for key, value in result.to_dict().items() if key not in ("warnings", "sha256")}
    assert AuditResult.from_json(json.dumps(old | {"sha256": saved.digest(old)})).warnings == ()


def test_a_fresh_seed_is_drawn_and_recorded():
    first, second = (audit(Laplace(epsilon=1.0), trials=100) for _ in range(2))
    assert first.seed != second.seed
    assert audit(Laplace(epsilon=1.0), trials=100, seed=first.seed).to_json() == first.to_json()


def wrong_shape(dataset, size, rng):
    return rng.laplace(size=size + 1)


def never_works(dataset, rng):
    raise TypeError("missing argument")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"trials": 0}, ParameterError, r"trials must be a whole number >= 1, .*but is 0"),
        ({"trials": 5}, ParameterError, "trials must be at least 10 per side, but is 5"),
        ({"confidence": 1.0}, ParameterError, r"confidence must lie strictly between 0 and 1, but is 1\.0"),
        ({"delta": 1.0}, ParameterError, r"delta must lie in \[0, 1\), but is 1\.0"),
        ({"seed": -1}, ParameterError, "seed must be a whole number >= 0"),
        ({"attack": "likelyhood-ratio"}, UnknownNameError, "Did you mean 'likelihood-ratio'"),
        ({"bound": "clopper"}, UnknownNameError, "Did you mean 'clopper-pearson'"),
        ({"bound": []}, ParameterError, "at least one bound"),
        ({"bound": [3]}, ParameterError, "must be a name or a Bound, but is 3"),
        ({"attack": 3}, ParameterError, "attack"),
        ({"claim": PureDP(1.0, relation="replace_one")}, RelationError, "give both the same relation"),
        ({"neighbours": Neighbours(0.0, 1.0, "replace_one")}, RelationError, "holds for relation 'add_remove'"),
        ({"neighbours": Neighbours(0.0, 3.0, "add_remove")}, NeighboursError, "3"),
    ],
)
def test_wrong_arguments_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        audit(Laplace(epsilon=1.0), **{"trials": 100, "seed": 0} | arguments)


@pytest.mark.parametrize(
    ("mechanism", "arguments", "error", "message"),
    [
        (3, {}, ParameterError, "mechanism must be a Mechanism or a function"),
        (SimpleNamespace(release=noisy_count), {}, ParameterError, r"Give its method: thing\.release\."),
        (noisy_count, {}, ParameterError, "claim must be given for a function such as noisy_count"),
        (noisy_count, {"claim": PureDP(1.0)}, ParameterError, "neighbours must be given for a function such as noisy"),
        (noisy_count, {"neighbours": PAIR}, ParameterError, "claim must be given"),
        (
            noisy_count,
            {"neighbours": Neighbours([1.0], [1.0, 2.0, 3.0], "add_remove"), "claim": PureDP(1.0)},
            NeighboursError,
            "record",
        ),
        (noisy_count, {"neighbours": PAIR, "claim": PureDP(1.0), "attack": "likelihood-ratio"}, AttackError, "classif"),
        (wrong_shape, {"neighbours": PAIR, "claim": PureDP(1.0)}, ReleaseError, "shape"),
        (never_works, {"neighbours": PAIR, "claim": PureDP(1.0)}, ReleaseError, "missing argument"),
    ],
)
def test_wrong_mechanisms_are_named(mechanism, arguments, error, message):
    with pytest.raises(error, match=message):
        audit(mechanism, **{"trials": 200, "seed": 0} | arguments)


ENTRIES = {
    "audit": audit,
    "assert_private": assert_private,
    "audit_scores": audit_scores,
    "search": search,
    "shadows_of": shadows_of,
    "Neighbours": Neighbours,
    "Coins.toss": Coins.toss,
    "Coins.audit": Coins.toss(range(3)).audit,
}


@pytest.mark.parametrize("name", ENTRIES)
def test_a_wrong_call_is_answered_with_one_that_fits(name):
    with pytest.raises(CallError, match=rf"^{name}: too many positional arguments\. Call it as ") as raised:
        ENTRIES[name](*[0] * 9)
    arguments = str(raised.value).removesuffix(".").split("Call it as ", 1)[1].partition("(")[2]
    names = {key: [1.0] for key in ("release", "d0", "d1", "out", "in_", "ids", "losses", "membership")}
    names |= {kind.__name__: kind for kind in (Neighbours, PairScores, PureDP)}
    eval(f"bind({arguments}", names | {"bind": signature(ENTRIES[name]).bind})  # a TypeError if it does not fit


def test_a_wrong_name_and_a_missing_argument_are_wrong_calls_too():
    with pytest.raises(CallError, match="assert_private: got an unexpected keyword argument 'epsilon'"):
        assert_private(Laplace(epsilon=1.0), PAIR, epsilon=1.0)
    with pytest.raises(TypeError, match="Neighbours: missing a required argument: 'relation'"):
        Neighbours([], [1.0])


def test_a_canary_in_the_place_of_a_pair_is_refused_with_advice():
    with pytest.raises(ParameterError, match=r"Make it a pair: Mislabelled\(record=2\)\.pair\(\(X, y\), learner\)"):
        audit(Laplace(epsilon=1.0), Mislabelled(record=2), trials=100, seed=0)


def test_a_claim_that_is_infinite_is_refused():
    with pytest.raises(AccountingError, match=r"delta is 0, where the claim .* is infinite"):
        audit(Gaussian(epsilon=1.0, delta=1e-5), trials=100, delta=0.0, seed=0)


def test_outputs_of_other_shapes_on_one_side_are_a_violation():
    def rows_leak(dataset, size, rng):
        return rng.laplace(size=(size, len(dataset)))

    result = audit(rows_leak, PAIR, claim=PureDP(1.0), trials=1_000, seed=0)
    assert result.verdict is Verdict.VIOLATION


def test_what_is_drawn_is_what_was_counted():
    result = audit(Laplace(epsilon=1.0), trials=50_000, seed=0)
    tally, bound = result.tally, result.bound
    at = int(np.flatnonzero(tally.thresholds == bound.threshold)[0])
    assert (tally.hits_out[at], tally.hits_in[at]) == bound.hits
    assert tally.n_out == tally.n_in == result.trials.evaluation
    assert tally.hits_out[0] == tally.n_out
