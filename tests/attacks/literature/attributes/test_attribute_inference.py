"""Inference of attributes and labels: what is read, slow twins, known answers, and what is refused."""

import math

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from dpassay.attacks.literature.attributes import (
    CorrectAttribution,
    ErrorRates,
    FromMembership,
    LeafCounts,
    LearnedInference,
    NearestRows,
    TrainedOnSynthetic,
)
from dpassay.attacks.people import Imputation, Majority, Sensitive
from dpassay.audit.metrics import attribute_gain
from dpassay.mechanisms import KAryRandomizedResponse
from dpassay.mechanisms.core import AttackError, ParameterError
from dpassay.mechanisms.learning.models.architectures import LogisticRegression as HouseLogistic
from dpassay.mechanisms.learning.models.trained import TrainedModels

SECRET = Sensitive(3, [0.0, 1.0])


def population(n, rng):
    """Three features, a fair coin that tells nothing about anything, and a label."""
    return np.column_stack([rng.normal(size=(n, 3)), rng.integers(0, 2, n)]), rng.integers(0, 3, n)


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    return tuple(population(n, rng) for n in (100, 100, 200))


@pytest.fixture(scope="module")
def tree(people):
    return DecisionTreeClassifier(random_state=0, max_depth=6).fit(*people[0])


def overfitted(data):
    return RandomForestClassifier(40, bootstrap=False, max_features=1, random_state=0).fit(*data)


MODEL_ATTACKS = [FromMembership(), FromMembership("rescaled-logit"), FromMembership(threshold=-0.1), ErrorRates()]
MODEL_ATTACKS += [LeafCounts(), LearnedInference("logistic"), Imputation(), Majority()]
TABLE_ATTACKS = [NearestRows(), NearestRows(5), TrainedOnSynthetic(), CorrectAttribution()]


@pytest.mark.parametrize("attack", [*MODEL_ATTACKS, *TABLE_ATTACKS], ids=repr)
def test_the_sensitive_column_of_the_people_is_not_read(attack, people, tree):
    attacked, released, known = people
    released = released if attack in TABLE_ATTACKS else tree
    scores = attack.scores(released, attacked, SECRET, known)
    hidden = attacked[0].copy()
    hidden[:, 3] = -7.0
    assert scores.shape == (100, 2)
    assert not np.isnan(scores).any()
    np.testing.assert_array_equal(attack.scores(released, (hidden, attacked[1]), SECRET, known), scores)


def test_membership_scores_are_those_of_a_loop(people, tree):
    (X, y), prior = people[1], [0.3, 0.7]
    scores = FromMembership().scores(tree, (X, y), Sensitive(3, [0.0, 1.0], prior))
    for i in range(0, 100, 17):
        for j, value in enumerate((0.0, 1.0)):
            row = X[i].copy()
            row[3] = value
            p = tree.predict_proba(row[None])[0, y[i]]
            assert scores[i, j] == pytest.approx(math.log(prior[j]) + math.log(max(p, 1e-45)), abs=1e-9)


def test_members_come_first_and_among_them_the_most_probable(people, tree):
    secret = Sensitive(3, [0.0, 1.0], [0.4, 0.6])
    loss = FromMembership().scores(tree, people[0], SECRET) - SECRET.log_prior
    guess = FromMembership(threshold=-0.5).guess(tree, people[0], secret)
    member = loss >= -0.5
    expected = np.where(member[:, 0] & ~member[:, 1], 0, 1)
    np.testing.assert_array_equal(guess, expected)


def test_error_rates_are_counted_with_one_more_of_each(people):
    class Echo:
        """Predicts class 1 where the attribute is 1."""

        classes_ = np.array([0, 1])

        def predict_proba(self, X):
            return np.column_stack([1.0 - X[:, 0], X[:, 0]])

    known = np.array([[0.0], [0.0], [0.0], [1.0]]), np.array([0, 0, 1, 1])
    scores = ErrorRates().scores(Echo(), ([[0.0]], [1]), Sensitive(0, [0.0, 1.0]), known)
    np.testing.assert_allclose(np.exp(scores[0]) * 2, [2 / 5, 2 / 3])  # (1 + 1) / (3 + 2) and (1 + 1) / (1 + 2)


def test_leaf_counts_are_those_of_the_training_examples(people, tree):
    (X, y), train = people[1], people[0]
    leaves = tree.apply(train[0])
    scores = LeafCounts().scores(tree, (X, y), SECRET)
    reachable = [{tree.apply(np.append(a, v)[None])[0] for a in np.vstack([train[0], X])[:, :3]} for v in (0.0, 1.0)]
    for i in range(0, 100, 11):
        for j, value in enumerate((0.0, 1.0)):
            leaf = tree.apply(np.append(X[i, :3], value)[None])[0]
            count = int(((leaves == leaf) & (train[1] == y[i])).sum())
            assert math.exp(scores[i, j]) > 0 or count == 0
            if count:
                reach = count * 0.5 / math.exp(scores[i, j])
                assert np.isin(leaves, list(reachable[j])).sum() <= round(reach) <= 100


def test_nearest_rows_are_those_of_a_loop(people):
    attacked, (rows, labels), _ = people
    guess = NearestRows().guess((rows, labels), attacked, SECRET)
    known, at = (np.column_stack([X[:, :3], y[:, None] == np.arange(3)]) for X, y in ((rows, labels), attacked))
    spread = known.std(axis=0)
    nearest = (((at[:, None] - known[None]) / spread) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(guess, rows[nearest, 3])


def test_correct_attribution_is_the_share_among_equal_rows():
    table = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 0.0], [5.0, 0.0]]), np.zeros(4, dtype=int)
    secret = Sensitive(1, [0.0, 1.0], prior=[0.9, 0.1])
    scores = CorrectAttribution().scores(table, ([[0.0, 0.0], [3.0, 0.0]], [0, 0]), secret)
    np.testing.assert_allclose(scores, [[1 / 3, 2 / 3], [0.9, 0.1]])


def test_a_copied_table_reveals_all_values(people):
    attacked, others, known = people
    result = attribute_gain(NearestRows(), (attacked, others), (attacked, others), SECRET, known=known)
    assert result.attack.value == 1.0
    assert result.headline.lower > 0.2


def test_models_of_the_library_are_attacked(people):
    X, y = people[0][0], (people[0][1] > 0).astype(int)
    network = HouseLogistic(4)
    models = TrainedModels(network, np.random.default_rng(0).normal(size=(1, network.n_parameters)))
    scores = FromMembership().scores(models, (X, y), SECRET)
    np.testing.assert_allclose(scores[:, 1] - math.log(0.5), -models.losses(SECRET.filled((X, y))[0][1], y)[0])
    two = TrainedModels(network, np.zeros((2, network.n_parameters)))
    with pytest.raises(AttackError, match="one model"):
        FromMembership().scores(two, (X, y), SECRET)


# --- memorised, or learned from the population ------------------------------------------------------------------------


def test_an_overfitted_model_leaks_an_unpredictable_attribute(people):
    a, b, known = people
    result = attribute_gain(FromMembership(), (overfitted(a), overfitted(b)), (a, b), SECRET, known=known)
    assert result.significant
    assert result.attack.value > 0.9
    assert result.headline.lower > 0.2


def test_a_regularised_model_of_real_data_succeeds_but_gains_nothing():
    X, y = load_breast_cancer(return_X_y=True)
    X = ((X - X.mean(axis=0)) / X.std(axis=0))[:, [0, 1, 4, 5, 7]]
    X[:, 4] = X[:, 4] > np.median(X[:, 4])
    order = np.random.default_rng(0).permutation(len(X))
    a, b, known = ((X[rows], y[rows]) for rows in (order[:180], order[180:360], order[360:]))
    models = tuple(LogisticRegression(C=0.1).fit(*data) for data in (a, b))
    result = attribute_gain(
        FromMembership(), models, (a, b), Sensitive.observed(known, 4), known=known, baseline=Majority()
    )
    assert result["without the release"].gain.lower > 0.1  # far above the prior ...
    assert not result.significant  # ... but no more than about others
    assert abs(result["without the person"].gain.value) < 0.03
    assert "learns from the population" in result.summary()


def test_a_release_that_is_better_for_all_people_has_no_gain(people):
    """One model reads the coin off a column, the other one does not: about its own people as about the others."""

    class OneColumn:
        classes_ = np.array([0, 1, 2])

        def __init__(self, sees):
            self.sees = sees

        def predict_proba(self, X):
            fits = (X[:, 3] == (X[:, 0] > 0)) if self.sees else np.ones(len(X), dtype=bool)
            return np.repeat(np.where(fits, 1 / 3, 1e-3)[:, None], 3, axis=1)

    def following(data):
        X = data[0].copy()
        X[:, 3] = X[:, 0] > 0
        return X, data[1]

    a, b, known = (following(data) for data in people)
    result = attribute_gain(FromMembership(), (OneColumn(True), OneColumn(False)), (a, b), SECRET, known=known)
    assert (
        attribute_gain(FromMembership(), (OneColumn(True), OneColumn(True)), (a, b), SECRET, known=known).attack.value
        == 1.0
    )
    assert result["without the person"].gain.lower < 0 < result["without the person"].gain.upper
    with pytest.raises(ParameterError, match="equally many"):
        attribute_gain(FromMembership(), (OneColumn(True), OneColumn(False)), (a, known), SECRET, known=known)


# --- known answers ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "epsilon", "expected"), [(2, 1.0, 0.7311), (8, 2.0, 0.5135)])
def test_label_inference_attains_the_optimum_of_label_privacy(k, epsilon, expected):
    """A nearest-neighbour model repeats the randomised labels that it was trained on."""
    rng, n = np.random.default_rng(5), 4000
    X, labels = np.arange(float(n))[:, None], rng.integers(0, k, n)
    mechanism = KAryRandomizedResponse(epsilon=epsilon, k=k)
    randomised = mechanism.release(labels, 1, rng).values[0]
    model = KNeighborsClassifier(1).fit(X, randomised)
    right = int(FromMembership().correct(model, (X, labels), Sensitive("label", np.arange(k))).sum())
    optimum = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
    assert optimum == pytest.approx(expected, abs=5e-5)
    assert stats.binomtest(right, n, optimum).pvalue > 1e-6


# --- refused ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "named", "message"),
    [
        ({"feature": 0, "values": [1]}, "values", "nothing to infer"),
        ({"feature": 0, "values": [1, 1]}, "values", "distinct"),
        ({"feature": "income", "values": [0, 1]}, "feature", "label"),
        ({"feature": -1, "values": [0, 1]}, "feature", "whole number"),
        ({"feature": 0, "values": [0, 1], "prior": [0.5, 0.6]}, "prior", "sum to 1"),
        ({"feature": 0, "values": [0, 1], "prior": [1.5, -0.5]}, "prior", "sum to 1"),
    ],
)
def test_invalid_secrets_are_refused(given, named, message):
    with pytest.raises(ParameterError, match=message) as caught:
        Sensitive(**given)
    assert caught.value.argument == named


def test_unknown_values_and_constant_attributes_are_refused():
    people = np.array([[2.0, 1.0], [0.0, 1.0]]), np.array([0, 1])
    with pytest.raises(ParameterError, match=r"2\.0 is not among"):
        Sensitive(0, [0, 1]).truth(people)
    with pytest.raises(ParameterError, match="constant"):
        Sensitive.observed(people, 1)
    with pytest.raises(ParameterError, match="columns"):
        Sensitive(7, [0, 1]).truth(people)
    with pytest.raises(ParameterError, match="have shapes"):
        Sensitive(0, [0, 1]).truth((np.zeros(3), np.zeros(3)))


def test_unusable_releases_are_refused(people, tree):
    a, _, known = people
    with pytest.raises(AttackError, match="no probabilities"):
        FromMembership().scores(LinearSVC().fit(*a), a, SECRET)
    with pytest.raises(AttackError, match="known=\\(X, y\\)"):
        Imputation().scores(None, a, SECRET)
    with pytest.raises(AttackError, match="decision tree"):
        LeafCounts().scores(LogisticRegression().fit(*a), a, SECRET)
    with pytest.raises(AttackError, match="cannot infer the label"):
        ErrorRates().scores(tree, a, Sensitive("label", [0, 1, 2]), known)
    with pytest.raises(AttackError, match="infers a feature"):
        LeafCounts().scores(tree, a, Sensitive("label", [0, 1, 2]))
    with pytest.raises(AttackError, match="a label is 9"):
        FromMembership().scores(tree, a, Sensitive("label", [0, 9]))
    with pytest.raises(AttackError, match="synthetic table"):
        NearestRows().scores(tree, a, SECRET)


def test_a_value_absent_from_known_people_is_never_imputed():
    known = np.array([[0.0, 1.0], [0.0, 2.0]]), np.array([0, 1])
    scores = Imputation().scores(None, known, Sensitive(0, [0.0, 1.0]), known)
    np.testing.assert_array_equal(scores, [[0.0, -np.inf]] * 2)
