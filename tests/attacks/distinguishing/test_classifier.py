from __future__ import annotations

import importlib

import numpy as np
import pytest
from tests.attacks.attack_laws import (
    LAWS,
    TARGET,
    advantage,
    auc,
    check_scorer,
    epsilon_of_common_events,
    k_ary,
    outputs,
)
from threadpoolctl import threadpool_info, threadpool_limits

from dpassay.attacks.distinguishing.classifier import Classifier
from dpassay.attacks.learners.additive import fit_additive
from dpassay.attacks.learners.base import two_classes
from dpassay.attacks.learners.table import OutputCells, find_cells, fit_table
from dpassay.mechanisms.core import AttackError, Floats, Outputs, number


def learned(law: str, n: int = 5_000, **options: object):
    pilot = outputs(*LAWS[law].draw(n, np.random.default_rng(11)))
    return Classifier(**options).fit(TARGET, *pilot, np.random.default_rng(12))  # type: ignore[arg-type]


@pytest.mark.parametrize("law", LAWS)
def test_auto_reaches_95_percent_of_the_likelihood_ratio(law: str) -> None:
    """Scores at exact quantiles; with this pilot the share is above 0.99 on most laws, far from the limit."""
    scorer = learned(law)
    out, in_ = (scorer.score(o) for o in outputs(LAWS[law].exact0, LAWS[law].exact1))
    best0, best1 = (LAWS[law].log_ratio(x).round(9) for x in (LAWS[law].exact0, LAWS[law].exact1))
    assert auc(out, in_) - 0.5 >= 0.95 * (auc(best0, best1) - 0.5)
    assert advantage(out, in_) >= 0.95 * advantage(best0, best1)
    assert epsilon_of_common_events(out, in_) >= 0.95 * epsilon_of_common_events(best0, best1)


@pytest.mark.parametrize("law", ["laplace", "variance only"])
@pytest.mark.parametrize("model", ["logistic", "boosting"])
def test_each_model_alone_reaches_90_percent_of_the_likelihood_ratio(law: str, model: str) -> None:
    scorer = learned(law, model=model)
    assert scorer.model_name == model
    out, in_ = (scorer.score(o) for o in outputs(LAWS[law].exact0, LAWS[law].exact1))
    best0, best1 = (LAWS[law].log_ratio(x).round(9) for x in (LAWS[law].exact0, LAWS[law].exact1))
    assert auc(out, in_) - 0.5 >= 0.9 * (auc(best0, best1) - 0.5)


def test_few_distinct_outputs_are_counted_in_a_table() -> None:
    law = k_ary(5, 1.0)
    scorer = Classifier().fit(TARGET, *outputs(*law.draw(50_000, np.random.default_rng(0))), np.random.default_rng(0))
    assert scorer.model_name == "table"
    values = np.arange(5)
    assert scorer.score(Outputs(values)) == pytest.approx(law.log_ratio(values), abs=0.1)


def test_scores_of_an_unbalanced_pilot_estimate_the_log_likelihood_ratio() -> None:
    rng = np.random.default_rng(5)
    pilot = outputs(rng.normal(0, 1, 30_000), rng.normal(1, 1, 3_000))
    at = np.array([-1.0, 0.5, 2.0])
    for model in ("logistic", "boosting"):
        scores = Classifier(model=model).fit(TARGET, *pilot, np.random.default_rng(0)).score(Outputs(at))
        assert scores == pytest.approx(at - 0.5, abs=0.3)


def test_log_odds_of_a_forest_are_finite_and_without_the_base_rate() -> None:
    law = k_ary(5, 1.0)
    draw0, draw1 = law.draw(9_000, np.random.default_rng(0))
    scorer = Classifier(model="forest").fit(TARGET, *outputs(draw0, draw1[:1_500]), np.random.default_rng(0))
    assert scorer.score(Outputs(np.arange(5))) == pytest.approx(law.log_ratio(np.arange(5)), abs=0.25)
    apart = Classifier(model="forest").fit(TARGET, *outputs(np.zeros(50), np.ones(50)), np.random.default_rng(0))
    assert apart.score(Outputs(np.arange(2.0))) == pytest.approx(np.array([-1, 1]) * np.log(199.0))


def test_two_laws_that_are_equal_are_not_distinguished() -> None:
    rng = np.random.default_rng(6)
    scorer = Classifier().fit(TARGET, *outputs(*rng.normal(size=(2, 5_000))), rng)
    out, in_ = (scorer.score(Outputs(rng.normal(size=20_000))) for _ in range(2))
    # AUC of exchangeable sides: mean 1/2, standard deviation below sqrt(1 / (6 n)); five of them leave 1e-6
    assert abs(auc(out, in_) - 0.5) < 5 * np.sqrt(1 / (6 * 20_000))


@pytest.mark.parametrize(
    ("name", "make0", "make1"),
    [
        (
            "one coordinate of a vector",
            lambda r, n: r.normal(size=(n, 6)),
            lambda r, n: r.normal(size=(n, 6)) + np.eye(6)[2],
        ),
        ("every coordinate a little", lambda r, n: r.normal(size=(n, 25)), lambda r, n: r.normal(size=(n, 25)) + 0.2),
        (
            "one entry of a matrix",
            lambda r, n: r.normal(size=(n, 3, 2)),
            lambda r, n: r.normal(size=(n, 3, 2)) + np.eye(3, 2),
        ),
        ("spread of a vector", lambda r, n: r.normal(size=(n, 6)), lambda r, n: 1.4 * r.normal(size=(n, 6))),
        (
            "correlation alone",
            lambda r, n: r.normal(size=(n, 2)),
            lambda r, n: r.multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], n),
        ),
        (
            "one bit of fifty",
            lambda r, n: r.random((n, 50)) < 0.25,
            lambda r, n: r.random((n, 50)) < np.where(np.arange(50) == 7, 0.7, 0.25),
        ),
        ("whole numbers", lambda r, n: r.integers(0, 1_000_000, n), lambda r, n: r.integers(200_000, 1_200_000, n)),
        (
            "complex numbers",
            lambda r, n: r.normal(size=n) + 0j,
            lambda r, n: r.normal(size=n) + 1j * (r.random(n) < 0.5),
        ),
    ],
)
def test_differences_of_many_kinds_are_detected(name: str, make0, make1) -> None:
    rng = np.random.default_rng(7)
    scorer = Classifier().fit(TARGET, *outputs(make0(rng, 2_000), make1(rng, 2_000)), rng)
    out, in_ = (scorer.score(Outputs(make(rng, 3_000))) for make in (make0, make1))
    assert out.shape == in_.shape == (3_000,)
    assert auc(out, in_) > 0.6, name


def test_a_model_that_is_only_a_line_would_miss_a_symmetric_difference() -> None:
    """The broken twin of the additive model: without kinks, a change of variance is invisible."""
    law = LAWS["variance only"]
    x0, x1 = (x[:, None] for x in law.draw(20_000, np.random.default_rng(1)))
    bent = fit_additive(*two_classes(x0, x1))
    straight = np.polynomial.Polynomial([0.0, 1.0])
    exact = law.exact0[:, None], law.exact1[:, None]
    assert auc(*(bent.log_odds(x) for x in exact)) > 0.6
    assert abs(auc(*(straight(x[:, 0]) for x in exact)) - 0.5) < 0.01


def test_the_score_increases_beyond_the_range_of_the_pilot() -> None:
    scorer = learned("gaussian", model="logistic")
    tail = scorer.score(Outputs(np.array([4.0, 5.0, 6.0, 7.0])))
    assert (np.diff(tail) > 0).all()


def test_outputs_that_never_vary_all_get_one_score() -> None:
    for values in (np.full(200, 3.0), np.full((200, 4), -1.5), np.zeros((200, 0))):
        for model in ("auto", "logistic", "quadratic", "boosting", "forest", "table"):
            scorer = Classifier(model=model).fit(TARGET, *outputs(values, values), np.random.default_rng(0))
            assert len(np.unique(scorer.score(Outputs(values)))) == 1


def test_a_constant_column_changes_nothing() -> None:
    rng = np.random.default_rng(8)
    x0, x1 = rng.normal(size=(500, 1)), rng.normal(1.0, 1.0, size=(500, 1))
    wide0, wide1 = (np.column_stack([x, np.full(500, 7.0)]) for x in (x0, x1))
    options = {"model": "logistic", "features": "coordinates"}
    narrow = Classifier(**options).fit(TARGET, *outputs(x0, x1), np.random.default_rng(0)).score(Outputs(x0))  # type: ignore[arg-type]
    wide = Classifier(**options).fit(TARGET, *outputs(wide0, wide1), np.random.default_rng(0)).score(Outputs(wide0))  # type: ignore[arg-type]
    assert wide == pytest.approx(narrow, abs=1e-12)


@pytest.mark.parametrize(
    "model", [pytest.param("auto", marks=pytest.mark.slow), "logistic", "quadratic", "boosting", "forest"]
)
def test_scores_are_the_same_bytes_whatever_the_threads(model: str) -> None:
    rng = np.random.default_rng(9)
    pilot = outputs(rng.normal(size=(600, 3)), rng.normal(0.3, 1.0, size=(600, 3)))
    fresh = Outputs(rng.normal(size=(1_000, 3)))
    observed = []
    for threads in (1, 4):
        with threadpool_limits(threads):
            scorer = Classifier(model=model).fit(TARGET, *pilot, np.random.default_rng(3))
            observed.append(scorer.score(fresh).tobytes())
    assert observed[0] == observed[1]


@pytest.mark.parametrize(
    ("model", "estimator"),
    [
        ("logistic", "sklearn.linear_model.LogisticRegression"),
        ("boosting", "sklearn.ensemble.HistGradientBoostingClassifier"),
        ("forest", "sklearn.ensemble.RandomForestClassifier"),
    ],
)
def test_training_keeps_to_one_thread(model: str, estimator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, _, name = estimator.rpartition(".")
    cls, seen = getattr(importlib.import_module(module), name), set()

    def watched(self, X, y, fit=cls.fit):
        seen.update(pool["num_threads"] for pool in threadpool_info())
        return fit(self, X, y)

    monkeypatch.setattr(cls, "fit", watched)
    with threadpool_limits(2):
        learned("laplace", n=500, model=model)
    assert seen == {1}


@pytest.mark.parametrize("model", ["logistic", "quadratic", "boosting", "forest", "table"])
def test_scorers_pickle_and_score_each_run_by_itself(model: str) -> None:
    rng = np.random.default_rng(10)
    pilot = outputs(rng.integers(0, 9, 3_000), rng.integers(1, 10, 3_000))
    scorer = Classifier(model=model).fit(TARGET, *pilot, rng)
    fresh = rng.integers(0, 12, 500)
    check_scorer(scorer, fresh)


def normal(covariance: Floats, n: int, seed: int) -> Floats:
    """Return `n` vectors of mean 0."""
    return np.random.default_rng(seed).multivariate_normal(np.zeros(len(covariance)), covariance, n)


@pytest.mark.parametrize(("n_numbers", "n_pilot", "share"), [(12, 400, 0.9), (40, 2_000, 0.95)])
def test_sides_that_differ_in_their_correlations_only_are_told_apart(n_numbers, n_pilot, share) -> None:
    """Every number has the same law on both sides; trees see less of the difference, and logistic regression little."""
    apart = np.abs(np.subtract.outer(np.arange(n_numbers), np.arange(n_numbers)))
    covariances = np.eye(n_numbers), 0.5**apart
    pilot = outputs(*(normal(covariance, n_pilot, seed) for seed, covariance in enumerate(covariances)))
    fresh = [normal(covariance, 4_000, 10 + seed) for seed, covariance in enumerate(covariances)]
    inverse, determinant = np.linalg.inv(covariances[1]), np.linalg.slogdet(covariances[1])[1]
    best = auc(*(0.5 * ((x * x).sum(axis=1) - ((x @ inverse) * x).sum(axis=1) - determinant) for x in fresh))
    scorer = Classifier().fit(TARGET, *pilot, np.random.default_rng(0))
    assert scorer.model_name == "quadratic"
    reached = auc(*(scorer.score(Outputs(x)) for x in fresh))
    assert reached - 0.5 >= share * (best - 0.5)
    for model in ("logistic", "boosting"):
        other = Classifier(model=model).fit(TARGET, *pilot, np.random.default_rng(0))
        assert auc(*(other.score(Outputs(x)) for x in fresh)) < reached


def test_quadratic_log_odds_estimate_the_log_likelihood_ratio() -> None:
    rng = np.random.default_rng(21)
    pilot = outputs(rng.normal(size=(30_000, 2)), rng.normal(size=(20_000, 2)) * [1.0, 2.0] + [0.5, 0.0])
    at = np.array([[0.0, 0.0], [2.0, 1.0], [-1.0, 3.0]])
    scores = Classifier(model="quadratic").fit(TARGET, *pilot, np.random.default_rng(0)).score(Outputs(at))
    x, y = at.T
    assert scores == pytest.approx(0.5 * x - 0.125 + 0.375 * y * y - np.log(2.0), abs=0.1)


@pytest.mark.parametrize("model", ["auto", "quadratic"])
@pytest.mark.parametrize("huge", [1e100, -1e150])
def test_a_rare_huge_number_of_a_vector_ends_no_training(model: str, huge: float) -> None:
    rng = np.random.default_rng(22)
    drawn = [rng.normal(size=(200, 5)) for _ in range(4)]
    for side, values in enumerate(drawn):
        values[:, 0] += 3.0 * (side % 2)
        values[:3, 1] = huge
    scorer = Classifier(model=model).fit(TARGET, *outputs(*drawn[:2]), np.random.default_rng(0))
    out, in_ = (scorer.score(Outputs(values)) for values in drawn[2:])
    assert np.isfinite(out).all()
    assert auc(out, in_) > 0.9


def test_a_quadratic_model_of_too_many_numbers_is_refused() -> None:
    values = np.zeros((40, 1_001))
    with pytest.raises(AttackError, match="reads up to 1,000 numbers of an output, but there are 1,001"):
        Classifier(model="quadratic").fit(TARGET, *outputs(values, values + 1.0), np.random.default_rng(0))


def test_a_users_own_features_are_used() -> None:
    rng = np.random.default_rng(13)
    pilot = outputs(rng.normal(size=(2_000, 2)), rng.normal(size=(2_000, 2)) * [1.0, 2.0])
    scorer = Classifier(features=np.abs).fit(TARGET, *pilot, rng)
    assert auc(*(scorer.score(o) for o in pilot)) > 0.6


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (lambda values: values[:5], r"features must return one row per run, 100 rows, but returned shape \(5,\)"),
        (lambda values: values * np.nan, "features returned NaN or infinity"),
        (lambda values: values.astype(str), "outputs of dtype"),
    ],
)
def test_unusable_features_are_refused(features, message: str) -> None:
    values = np.random.default_rng(0).normal(size=100)
    with pytest.raises(AttackError, match=message):
        Classifier(features=features).fit(TARGET, *outputs(values, values), np.random.default_rng(0))


def test_a_pilot_that_is_too_small_is_refused_with_the_minimum() -> None:
    values = np.zeros(29)
    with pytest.raises(AttackError, match=r"at least 30 ordinary pilot outputs per side.*got 29 and 29.*Raise trials"):
        Classifier().fit(TARGET, *outputs(values, values), np.random.default_rng(0))


@pytest.mark.parametrize("model", ["auto", "logistic", "quadratic", "boosting", "forest"])
def test_the_smallest_pilot_is_enough(model: str) -> None:
    rng = np.random.default_rng(14)
    scorer = Classifier(model=model).fit(TARGET, *outputs(rng.normal(0, 1, 30), rng.normal(9, 1, 30)), rng)
    assert auc(*(scorer.score(o) for o in outputs(rng.normal(0, 1, 300), rng.normal(9, 1, 300)))) > 0.99


def test_a_table_of_continuous_outputs_is_refused() -> None:
    values = np.random.default_rng(0).normal(size=100)
    with pytest.raises(AttackError, match=r"'table' counts each distinct output.*model='auto'"):
        Classifier(model="table").fit(TARGET, *outputs(values, values), np.random.default_rng(0))


def test_cells_agree_with_a_dictionary_of_rows() -> None:
    rng = np.random.default_rng(15)
    rows0, rows1 = rng.integers(0, 3, (400, 3)), rng.integers(1, 4, (500, 3))
    cells = OutputCells.learn(np.concatenate([rows0, rows1]), max_cells=1_000)
    assert cells is not None
    model = fit_table(cells, *two_classes(rows0, rows1))
    fresh = rng.integers(-1, 5, (300, 3))
    tallies = [{}, {}]
    for tally, rows in zip(tallies, (rows0, rows1), strict=True):
        for row in map(tuple, rows):
            tally[row] = tally.get(row, 0) + 1
    naive = []
    for row in map(tuple, fresh):
        c0, c1 = (t.get(row, 0) for t in tallies)
        seen = c0 + c1 > 0
        naive.append(np.log((c1 + 0.5) / 501) - np.log((c0 + 0.5) / 401) if seen else 0.0)
    assert model.log_odds(fresh) == pytest.approx(naive, abs=1e-12)
    assert len(cells) == len(tallies[0].keys() | tallies[1].keys())


def test_too_many_distinct_outputs_make_no_table() -> None:
    rng = np.random.default_rng(16)
    assert find_cells(rng.normal(size=(1_000, 1))) is None
    assert find_cells(np.arange(200)[:, None] % 100) is None
    assert find_cells(np.arange(2_000)[:, None] % 100) is not None


@pytest.mark.parametrize("model", ["logistic", "table", "boosting"])
def test_descriptions_hold_for_the_described_outputs(model):
    rng = np.random.default_rng(0)
    sides = [Outputs(np.clip(np.round(rng.normal(mean, 1.0, 600)), -2, 3)) for mean in (0.0, 1.0)]
    scorer = Classifier(model=model).fit(TARGET, *sides, rng)
    above, below = scorer.describe(0.5), scorer.describe(0.5, above=False)
    values = np.arange(-2.0, 4.0)
    reach = scorer.score(Outputs(values)) >= 0.5
    if model == "table":
        for words, described in ((above, values[reach]), (below, values[~reach])):
            assert [float(value) for value in words.removeprefix("the output is ").split(" or ")] == described.tolist()
    elif model == "logistic":
        crossing = float(above.removeprefix("the output is at least "))
        assert np.array_equal(values >= crossing, reach)
        assert below == f"the output is at most {number(crossing, 6)}"
    else:
        assert above == "log odds of side 1 >= 0.5, learned by gradient boosting"
