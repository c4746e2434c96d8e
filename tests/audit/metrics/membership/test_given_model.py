"""A given model with two sets of records: what is found, what is not, and what cannot be told."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from dpassay.attacks.membership import Shadows
from dpassay.attacks.membership.thresholds import LossThreshold
from dpassay.audit.metrics.membership import MembershipResult, audit_model, evaluate
from dpassay.audit.metrics.membership.feature_baseline import FeatureBaseline, blind_baseline
from dpassay.mechanisms.core import ParameterError

SLOPE = np.array([2.0, -1.0, 0.0])


def draw(n, rng, *, flipped=0.0):
    """Return n records of three features, and labels of which a share is flipped."""
    X = rng.normal(size=(n, 3))
    y = (X @ SLOPE + rng.logistic(size=n) > 0) ^ (rng.random(n) < flipped)
    return X, y.astype(int)


def model_of_neither(seed=1):
    return LogisticRegression().fit(*draw(300, np.random.default_rng(seed))).predict_proba


def regularised():
    return make_pipeline(StandardScaler(), LogisticRegression(C=1e-3))


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    inside = np.random.default_rng(0).random(len(y)) < 0.5
    return (X[inside], y[inside]), (X[~inside], y[~inside])


@pytest.fixture(scope="module")
def found(digits):
    members, others = digits
    tree = DecisionTreeClassifier(random_state=0).fit(*members)
    groups = [np.where(y < 5, "low", "high") for _, y in digits]
    return audit_model(tree.predict_proba, members, others, groups=groups, attacks=["loss", "correctness-gap"])


def test_an_overfitted_tree_is_found_without_the_statement_of_a_random_split(found):
    assert found.found_by[0] == "loss"
    assert found.unanswered == ""
    assert found["loss"].auc == pytest.approx(0.58, abs=0.005)  # (1 + share of others that it gets wrong) / 2
    assert "Members are found, by loss" in found.summary()
    assert "No bound on epsilon follows" in found.summary()
    assert {row.group for row in found["loss"].groups} == {"low", "high"}


def test_the_result_survives_json_and_is_drawn(found):
    assert MembershipResult.from_json(found.to_json()) == found
    assert found.plot() is not None


@pytest.mark.parametrize(("model", "found_by"), [(KNeighborsClassifier(1), ("loss",)), (regularised(), ())])
def test_a_random_split_that_is_stated_finds_a_nearest_neighbour_and_no_regularised_model(model, found_by):
    X, y = load_breast_cancer(return_X_y=True)
    inside = np.random.default_rng(0).random(len(y)) < 0.5
    members, others = (X[inside], y[inside]), (X[~inside], y[~inside])
    predict = model.fit(*members).predict_proba
    assert audit_model(predict, members, others, attacks="loss", random_split=True).found_by == found_by


@pytest.mark.parametrize("random_split", [False, True])
def test_a_model_that_was_trained_on_neither_set_is_not_found(random_split):
    rng = np.random.default_rng(0)
    result = audit_model(model_of_neither(), draw(300, rng), draw(300, rng), attacks="loss", random_split=random_split)
    assert (result.found_by, result.unanswered) == ((), "")
    assert "No evidence of membership" in result.summary()


@pytest.mark.parametrize(("shift", "flipped"), [(1.0, 0.0), (0.0, 0.4)])
def test_sets_that_differ_without_the_model_give_no_answer(shift, flipped):
    rng = np.random.default_rng(0)
    members, (X, y) = draw(300, rng), draw(300, rng, flipped=flipped)
    result = audit_model(model_of_neither(), members, (X + shift, y), attacks="loss", random_split=True)
    assert result.found_by == ()
    assert "cannot be told" in result.unanswered
    assert "Membership cannot be told" in result.summary()
    assert "Most exposed" not in result.summary()


def test_labels_that_are_harder_to_predict_are_seen_by_the_difficulty_only():
    rng = np.random.default_rng(0)
    (X, y), (X_out, y_out) = draw(400, rng), draw(400, rng, flipped=0.4)
    member = np.arange(800) < 400
    baseline = blind_baseline(member, X=np.concatenate([X, X_out]), y=np.concatenate([y, y_out]))
    assert (baseline.way, baseline.shifted) == ("difficulty", True)


def test_the_difficulty_of_a_random_split_covers_one_half():
    """The intervals of five folds are combined as independent: at 0.8, with three ways, one in fifteen misses."""
    repeats, missed = 40, 0
    for seed in range(repeats):
        rng = np.random.default_rng([seed, 3])
        X, y = draw(80, rng)
        baseline = blind_baseline(rng.random(80) < 0.5, X=X, y=y, confidence=0.8, seed=seed)
        missed += baseline.shifted
    assert missed <= stats.binom.isf(1e-6, repeats, 0.2)


def test_references_that_saw_nothing_see_sets_that_differ():
    rng = np.random.default_rng(0)
    others = draw(300, rng, flipped=0.4)
    signal = np.concatenate([np.zeros(300), others[1]]) + rng.normal(size=600)
    member = np.arange(600) < 300
    assert blind_baseline(member, references=rng.normal(size=600)).shifted is False
    assert blind_baseline(member, references=signal).shifted is True


def judged(auc_scores, n_attacks, *, random_split=True, confidence=0.8):
    """Return the result of several attacks, with scores `(n_attacks, 2 n)` of which the first half are members."""
    n = auc_scores.shape[1]
    signals = {f"s{i}": row[None] for i, row in enumerate(auc_scores)}
    shadows = Shadows((np.arange(n) < n // 2)[None], np.zeros(n), signals)
    attacks = [LossThreshold(signal=name) for name in signals][:n_attacks]
    result = evaluate(shadows, attacks, confidence=confidence)
    return replace(result, feature_baseline=FeatureBaseline(0.5, 0.4, 0.6), random_split=random_split)


def test_exchanged_sets_are_no_evidence_that_nothing_leaks(digits):
    members, others = digits
    tree = DecisionTreeClassifier(random_state=0).fit(*members)
    result = audit_model(tree.predict_proba, others, members, random_split=True)
    assert result.found_by == ()
    assert result.reversed_by
    assert "may be exchanged" in result.unanswered
    text = result.text()
    assert text.headline == "Membership cannot be told: the scores are higher for non-members"
    assert text.next_steps[0].startswith("Check which set the model was trained on")
    assert result.summary().count("wrong sign") == 0


def test_columns_belong_to_the_classes_of_the_model(digits):
    (X, y), (X_out, y_out) = digits
    tree = DecisionTreeClassifier(random_state=0).fit(X, y + 1)
    some, some_out = y < 6, y_out < 6
    sets = (X[some], y[some] + 1), (X_out[some_out], y_out[some_out] + 1)
    assert audit_model(tree.predict_proba, *sets, attacks="loss", random_split=True).found_by == ("loss",)
    with pytest.raises(ParameterError, match=r"the largest one is that of the label for 0.739 % of the records"):
        audit_model(lambda batch: tree.predict_proba(batch), *sets, attacks="loss")
    with pytest.raises(ParameterError, match=r"there is none for 11: predict returned 10 columns"):
        audit_model(tree.predict_proba, (X, y + 2), (X_out, y_out + 2), attacks="loss")


def test_others_that_are_members_are_refused_and_equal_records_are_not(digits):
    (X, _), (X_out, _) = digits
    scores = {"outputs": "scores", "attacks": "loss"}
    with pytest.raises(ParameterError, match=r"200 of 400 are members as well"):
        audit_model(lambda batch: batch[:, 9], X, np.concatenate([X[:200], X_out[:200]]), **scores)
    with pytest.raises(ParameterError, match=r"300 of 300 are members as well"):
        audit_model(lambda batch: batch[9].to_numpy(), pd.DataFrame(X[:300]), pd.DataFrame(X[:300]), **scores)
    with pytest.raises(ParameterError, match=r"10 of 10 are members as well"):
        audit_model(lambda batch: batch[:, 9], X, X[:10], **scores)
    twice = np.random.default_rng(1).permutation(np.repeat(np.arange(300.0), 2))[:, None]  # a split of equal records
    assert audit_model(lambda batch: batch[:, 0], twice[:500], twice[500:], **scores).n_records == 600
    few = np.random.default_rng(0).integers(0, 4, size=(400, 2)).astype(float)
    assert audit_model(lambda batch: batch[:, 0], few[:200], few[200:], **scores).n_records == 400


def test_members_of_a_model_without_a_leak_are_found_at_the_stated_rate():
    """Five independent attacks at confidence 0.8 find something in one tenth; each on its own level, in two fifths."""
    repeats, rng = 400, np.random.default_rng(0)
    results = [judged(rng.normal(size=(5, 120)), 5) for _ in range(repeats)]
    assert sum(bool(result.found_by) for result in results) <= stats.binom.isf(1e-6, repeats, 0.1)
    assert sum(bool(result.reversed_by) for result in results) <= stats.binom.isf(1e-6, repeats, 0.1)


def test_the_interval_of_the_auc_of_one_model_covers_it():
    repeats, rng, missed = 400, np.random.default_rng(1), 0
    for _ in range(repeats):
        scores = rng.normal(size=(1, 200)) + (np.arange(200) < 100)
        loss = judged(scores, 1).attacks[0]
        missed += not loss.auc_lower <= stats.norm.cdf(np.sqrt(0.5)) <= loss.auc_upper
    assert missed <= stats.binom.isf(1e-6, repeats, 0.2)


def test_without_the_statement_an_attack_must_exceed_the_limit_of_the_baseline():
    rng = np.random.default_rng(0)
    small, large = (rng.normal(size=(1, 4_000)) + shift * (np.arange(4_000) < 2_000) for shift in (0.2, 1.5))
    assert judged(small, 1).found_by
    assert not judged(small, 1, random_split=False).found_by
    assert judged(large, 1, random_split=False).found_by


def test_the_model_sees_all_records_at_once_in_an_order_that_says_nothing():
    rng, batches = np.random.default_rng(0), []
    X, X_out = rng.normal(size=(60, 2)), rng.normal(size=(50, 2))
    X[7, 0] = 9.0

    def predict(batch):
        batches.append(batch)
        return batch[:, 0]

    result = audit_model(predict, X, X_out, outputs="scores", attacks="loss")
    assert len(batches) == 1
    assert not np.array_equal(batches[0], np.concatenate([X, X_out]))
    assert result.most_exposed[0].record == 7
    assert result.most_exposed[0].score == pytest.approx(9.0)
    assert (result.most_exposed[0].as_high, result.most_exposed[0].n_others) == (0, 50)


def test_outputs_of_the_label_get_the_labels_in_the_same_order():
    rng = np.random.default_rng(0)
    members, others = draw(60, rng), draw(60, rng)
    signs = {row.tobytes(): label for X, y in (members, others) for row, label in zip(X, y, strict=True)}

    def losses(batch):
        X, y = batch
        assert [signs[row.tobytes()] for row in X] == y.tolist()
        return rng.exponential(size=len(y))

    assert audit_model(losses, members, others, outputs="losses", attacks="loss").n_records == 120


def test_references_make_the_attacks_that_compare_with_them_available():
    rng = np.random.default_rng(0)
    members, others = draw(200, rng), draw(200, rng)
    model = DecisionTreeClassifier(min_samples_leaf=2, random_state=0).fit(*members)
    references = [LogisticRegression().fit(*draw(200, rng)).predict_proba for _ in range(4)]
    result = audit_model(model.predict_proba, members, others, references, attacks=["lira", "rmia", "calibration"])
    assert [m.attack.partition("(")[0] for m in result.attacks] == ["lira", "rmia", "calibration"]
    assert result.target == "given"


def test_tables_may_hold_text_and_missing_entries():
    rng = np.random.default_rng(0)

    def table(n, places):
        return pd.DataFrame({"age": rng.normal(size=n), "place": rng.choice(places, n)}).mask(rng.random((n, 2)) < 0.1)

    def predict(batch):
        return batch["age"].fillna(0.0).to_numpy()

    same = audit_model(predict, table(200, ["a", "b"]), table(200, ["a", "b"]), outputs="scores", attacks="loss")
    assert not same.unanswered
    differ = audit_model(predict, table(200, ["a", "b"]), table(200, ["b", "c"]), outputs="scores", attacks="loss")
    assert differ.unanswered


X, Y = np.zeros((20, 2)), np.arange(20) % 2


def two_classes(batch):
    return np.full((len(batch), 2), 0.5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((two_classes, X, X), r"members must be a pair \(X, y\)"),
        ((two_classes, (X, Y), X), r"others must be a pair \(X, y\)"),
        ((two_classes, (X[:9], Y[:9]), (X, Y)), "at least 10 records each, but are 9 and 20"),
        ((two_classes, (X, Y), (np.zeros((20, 3)), Y)), r"others must have the columns of members, \(2,\)"),
        ((two_classes, (X, Y[:5]), (X, Y)), "members must be a pair of records and one label each"),
        ((two_classes, (np.array(["a"] * 20), Y), (X, Y)), "members must be records as an array of numbers"),
        ((two_classes, (X * np.nan, Y), (X, Y)), "40 entries are NaN or infinite"),
        ((lambda batch: batch[:, 0], (X, Y), (X, Y)), "A column alone, such as that of class 1"),
        ((lambda batch: 3.0, (X, Y), (X, Y)), r"must return probabilities of shape \(40, n_classes\)"),
        ((lambda batch: two_classes(batch[:5]), (X, Y), (X, Y)), r"of shape \(5, 2\). It must return one row for each"),
        ((None, (X, Y), (X, Y)), "predict must be a function of a batch of records"),
        ((two_classes, (X, Y), (X, Y), [(two_classes, Y)]), r"references\[0\] must be a function, or a pair"),
        ((two_classes, (X, Y), (X, Y), [3]), r"references\[0\] must be a function"),
        ((two_classes, (X, Y), (X, Y), [lambda batch: np.ones((40, 3))]), "the shapes are"),
        ((two_classes, (X, Y), (X, Y), None, Y), "groups must be a pair of arrays"),
    ],
)
def test_bad_input_is_refused_by_name(arguments, message):
    if len(arguments) > 4:
        arguments = (lambda batch: np.random.default_rng(0).dirichlet([1, 1], len(batch)), *arguments[1:])
    with pytest.raises(ParameterError, match=message):
        audit_model(*arguments)
