"""Texts of one language model: tables, and the bound from coins on laws with a known epsilon."""

import math

import numpy as np
import pytest
from scipy import stats

from dpassay.attacks.membership.scored_texts import ScoredTexts
from dpassay.audit import Coins
from dpassay.audit.metrics.membership.language_models import evaluate_texts
from dpassay.mechanisms.accounting import ApproximateDP, PureDP
from dpassay.mechanisms.core import AttackError, ParameterError, UnknownNameError


def responded(coins, epsilon, rng, **fields):
    """Texts of a model that memorises by randomised response: a bit is flipped with probability 1 / (1 + e^eps)."""
    kept = rng.random(len(coins.ids)) < 1.0 / (1.0 + math.exp(-epsilon))
    known = coins.included == kept
    rows = [-rng.uniform(0.1, 0.5, 6) if bit else -rng.uniform(1.0, 2.0, 6) for bit in known]
    return ScoredTexts(rows, ids=coins.ids, **fields)


def violations(epsilon, claimed, *, n_runs, n_texts=300):
    """How many of many runs contradict a claim, at confidence 0.8."""
    found = 0
    for seed in range(n_runs):
        coins = Coins.toss(range(n_texts), seed=seed)
        texts = responded(coins, epsilon, np.random.default_rng([1, seed]))
        audited = evaluate_texts(texts, coins=coins, claim=PureDP(claimed), delta=0.0, confidence=0.8, queries=())
        found += audited.audit.bound.epsilon > claimed
    return found


@pytest.mark.slow
def test_true_claims_are_contradicted_no_more_often_than_stated(without_power):
    assert violations(1.0, 1.0, n_runs=300) <= stats.binom.isf(1e-6, 300, 0.2)


def test_a_false_claim_is_contradicted_nearly_always(without_power):
    """Randomised response at 2 with a claim of 0.5: what a coverage test would see if the claim were false."""
    assert violations(2.0, 0.5, n_runs=20) == 20


def memorised(n=400, **fields):
    coins = Coins.toss(range(n), seed=5)
    return coins, responded(coins, 8.0, np.random.default_rng(0), **fields)


def test_the_membership_is_that_of_the_coins(without_power):
    coins, texts = memorised()
    result = evaluate_texts(texts, coins=coins, claim=ApproximateDP(2.0, 1e-5))
    assert result.audit.verdict.value == "violation"
    assert result.audit.attack == "loss of the texts"
    assert result.audit.ledger[0].what == "signal"
    assert result.membership["loss"].auc > 0.99
    assert result.membership.feature_baseline is None
    assert "fair coin" in result.membership.design
    assert [name for name, _ in result.skipped] == ["zlib", "min-k++", "reference", "reference-ratio", "exposure"]
    for part in ("VIOLATION", "loss", "skipped zlib: ", "TPR@1 % FPR"):
        assert part in " ".join(result.summary().split())
    notes = [note for note in result.text().notes if note.startswith("skipped ")]
    assert sum("2 attacks: the signal needs reference_log_probabilities" in note for note in notes) == 1
    assert len(notes) == len(result.skipped) - 1


def test_the_reference_or_a_named_signal_is_audited(without_power):
    coins, texts = memorised(reference_log_probabilities=[[-1.0 - i / 400] for i in range(400)])
    audited = {
        name: evaluate_texts(texts, coins=coins, claim=PureDP(2.0), delta=0.0, signal=name).audit
        for name in (None, "min-k")
    }
    assert [audit.attack.split()[0] for audit in audited.values()] == ["reference-ratio", "min-k"]
    assert "by the caller" in str(audited["min-k"].ledger[0])


def test_the_audited_signal_is_not_chosen_from_the_scores(without_power):
    """The loss is noise, and the smallest log probability reveals every coin: the audit has the loss all the same."""
    coins, rng = Coins.toss(range(400), seed=5), np.random.default_rng(0)
    smallest, others = np.where(coins.included, -3.0, -3.1), -rng.uniform(0.0, 2.9, (400, 9))
    texts = ScoredTexts(np.column_stack([smallest, others]), ids=coins.ids)
    audit = evaluate_texts(texts, coins=coins, claim=PureDP(2.0), delta=0.0).audit
    best = evaluate_texts(texts, coins=coins, claim=PureDP(2.0), delta=0.0, signal="min-k", share=0.1).audit
    assert audit.attack == "loss of the texts"
    assert audit.bound.epsilon < 2.0 < best.bound.epsilon


def test_canaries_without_a_score_are_counted(without_power):
    coins, texts = memorised()
    some = ScoredTexts(texts.tokens[:380], ids=texts.names[:380])
    result = evaluate_texts(some, coins=coins, claim=PureDP(1.0), delta=0.0)
    assert any(entry.what == "missing scores" for entry in result.audit.ledger)


def test_metrics_without_coins_have_no_audit():
    coins, texts = memorised()
    labelled = ScoredTexts(texts.tokens, ids=texts.names, member=coins.included)
    result = evaluate_texts(labelled)
    assert result.audit is None
    assert result.membership["loss"].auc > 0.99
    assert "not known to be drawn by fair coins" in result.membership.design
    assert result.to_frame().columns.tolist() == ["id", "member", "loss", "min-k"]


def test_the_table_does_not_depend_on_an_alternating_order_of_the_lines():
    rng = np.random.default_rng(0)
    rows = [-rng.exponential(size=5) * (0.5 if i % 2 else 1.0) for i in range(200)]
    table = evaluate_texts(ScoredTexts(rows, member=np.arange(200) % 2)).membership
    assert 0.3 < table["loss"].held_out_advantage < 0.9


def test_texts_of_unknown_membership_have_signals_only():
    _, texts = memorised()
    result = evaluate_texts(texts)
    assert result.membership is None
    assert "no text has a known membership" in result.summary()


def test_members_from_another_source_are_found_without_the_model():
    """Members have dates of an earlier year: the texts alone separate them, and the model knows nothing."""
    rng = np.random.default_rng(0)
    member = np.arange(400) % 2 == 0
    written = [f"news of {2019 if bit else 2024} number {i}" for i, bit in enumerate(member)]
    rows = [-rng.exponential(size=10) for _ in member]
    result = evaluate_texts(ScoredTexts(rows, texts=written, member=member))
    assert result.membership.confounded
    assert "different distributions" in result.summary()
    shuffled = [f"news of {rng.choice([2019, 2024])} number {i}" for i in rng.permutation(400)]
    assert not evaluate_texts(ScoredTexts(rows, texts=shuffled, member=member)).membership.confounded


def test_shares_of_extractable_texts_count_texts_with_a_prefix():
    rows = [[-1.0, math.log(0.5)], [-1.0, math.log(0.01)], [-1.0, math.log(0.9)], [-3.0, -2.0]]
    texts = ScoredTexts(rows, prefix_tokens=[1, 1, 1, None], member=[1, 1, 0, 0])
    result = evaluate_texts(texts, queries=(1, 100), p=0.6)
    found = {(rate.texts, rate.n): (rate.n_extractable, rate.n_texts) for rate in result.extraction}
    assert found == {
        ("members", 1): (0, 2),
        ("members", 100): (2, 2),
        ("non-members", 1): (1, 1),
        ("non-members", 100): (1, 1),
    }
    (rate, *_) = result.extraction
    assert rate.share == 0.0
    assert (rate.lower, rate.upper) == (0.0, pytest.approx(stats.beta.ppf(0.975, 1, 2)))
    assert "n = 100 " in result.summary()
    assert len(result.extraction_frame()) == 4


def test_mean_exposure_of_members_and_others():
    texts = ScoredTexts(
        [[-1.0], [-2.0], [-3.0]], alternatives=[[-2.0, -3.0, -4.0], [-1.0, -1.5, -1.7], None], member=[1, 0, 0]
    )
    member, other = evaluate_texts(texts).exposure
    assert (member.mean, member.limit, member.n_canaries) == (2.0, 2.0, 1)
    assert (other.mean, other.n_canaries) == (0.0, 1)
    assert member.without == pytest.approx(2.0 - math.log2(24) / 4)
    assert "exposure of canaries" in evaluate_texts(texts).summary()


def test_a_text_on_both_sides_is_a_warning():
    texts = ScoredTexts([[-1.0], [-2.0], [-3.0]], texts=["a", "a", "b"], member=[1, 0, 0])
    assert "1 non-members have the same text" in evaluate_texts(texts).summary()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"claim": PureDP(1.0)}, ParameterError, "coins must be given too"),
        ({"coins": Coins.toss(range(4), seed=0)}, ParameterError, "claim must be given too"),
        ({"signal": "loss"}, ParameterError, "for an audit with coins"),
        ({"coins": Coins.toss(range(9, 12), seed=0), "claim": PureDP(1.0)}, ParameterError, "4 of 4 have none"),
        ({"coins": Coins.toss(range(4), seed=0), "claim": PureDP(1.0), "signal": "lss"}, UnknownNameError, "loss"),
        ({"coins": Coins.toss(range(4), seed=0), "claim": PureDP(1.0), "signal": "zlib"}, AttackError, "needs text"),
        ({"confidence": 1.0}, ParameterError, "confidence"),
        ({"p": 0.0}, ParameterError, "p must"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        evaluate_texts(ScoredTexts([[-1.0], [-2.0], [-3.0], [-4.0]]), **options)


def test_members_that_contradict_the_coins_are_refused():
    coins = Coins.toss(range(50), seed=0)
    texts = ScoredTexts([[-1.0 - i] for i in range(50)], ids=coins.ids, member=~coins.included)
    with pytest.raises(ParameterError, match="contradicts the coins for 50 of 50"):
        evaluate_texts(texts, coins=coins, claim=PureDP(1.0))


@pytest.mark.parametrize("member", [[1, 1], [0, 0]])
def test_members_only_or_non_members_only_are_refused(member):
    with pytest.raises(ParameterError, match="all 2 texts are"):
        evaluate_texts(ScoredTexts([[-1.0], [-2.0]], member=member))
