"""The portfolio takes no rule where the classifier sees everything, and sees more where it does not."""

import numpy as np
import pytest
from scipy import stats
from tests.attacks.attack_laws import TARGET, auc

from dpassay.attacks.distinguishing import Classifier, Portfolio
from dpassay.attacks.distinguishing.events import fit_scorer
from dpassay.attacks.distinguishing.portfolio import PortfolioScorer
from dpassay.mechanisms import Outputs

RNG = np.random.default_rng
GRID = 2.0**16


def on_grid(values):
    return np.round(values * GRID) / GRID


def geometric(rng, n, d):
    return (rng.geometric(0.4, (n, d)) - rng.geometric(0.4, (n, d))).astype(np.float64)


def mixture(rng, n, side):
    return np.where(rng.random(n) < 0.3, rng.normal(4.0, 0.2, n), rng.normal(side, 1.0, n))


ORDINARY = {
    "laplace sum": lambda rng, n, side: on_grid(side + rng.laplace(size=n)),
    "gaussian vector": lambda rng, n, side: on_grid(0.3 * side + rng.normal(size=(n, 5))),
    "geometric": lambda rng, n, side: side + geometric(rng, n, 1)[:, 0],
    "counts": lambda rng, n, side: np.array([7.0, 3.0, side]) + geometric(rng, n, 3),
    "many whole numbers": lambda rng, n, side: rng.integers(0, 4_000, n).astype(float),
    "mixture": lambda rng, n, side: on_grid(mixture(rng, n, side)),
    "no difference": lambda rng, n, side: on_grid(rng.laplace(size=(n, 2))),
}


def pilot(draw, n=3_000, seed=0):
    rng = RNG(seed)
    return Outputs(draw(rng, n, 0)), Outputs(draw(rng, n, 1))


QUICK = Classifier(model="logistic")


@pytest.mark.parametrize("name", ORDINARY)
@pytest.mark.parametrize(
    ("classifier", "seeds"), [(QUICK, 2), pytest.param(Classifier(), 10, marks=pytest.mark.slow)], ids=["quick", "auto"]
)
def test_rules_are_not_used_on_ordinary_functions(name, classifier, seeds):
    for seed in range(seeds):
        sides = pilot(ORDINARY[name], seed=seed)
        scorer = Portfolio(classifier=classifier, bits_from=1).fit(TARGET, *sides, RNG(1))
        assert not isinstance(scorer, PortfolioScorer)


def few_bits(rng, n, side):
    u = (rng.integers(0, 2**13, n) + 0.5) / 2.0**13 - 0.5
    return side - np.sign(u) * np.log1p(-2.0 * np.abs(u))


def digit(rng, n, side):
    """Six decimals; the last is even, but on side 1 one of five times."""
    six = np.round(rng.laplace(size=(n, 3)) + side, 5) + 2e-6 * rng.integers(0, 5, (n, 3))
    six[:, 1] += 1e-6 * (rng.random(n) < 0.2 * side)
    return six


def equal(rng, n, side):
    rows = on_grid(rng.normal(size=(n, 4)))
    rows[:, 3] = np.where(rng.random(n) < 0.05 + 0.4 * side, rows[:, 0], rows[:, 3])
    return rows


def slipping(rng, n, side):
    return np.where(rng.random(n) < 0.03, side - 0.5, ORDINARY["laplace sum"](rng, n, side))


LEAKS = {
    "few bits": (few_bits, "occurred"),
    "a digit": (digit, "coordinate 1 has 6 decimals, and the last is"),
    "equal coordinates": (equal, "distinct"),
    "a raw value": (slipping, "the output is 0.5 exactly"),
    "low bits": (lambda rng, n, side: side + rng.laplace(size=n), "odd multiple of 2^-5"),
}


@pytest.mark.parametrize("name", LEAKS)
def test_a_leak_that_classifiers_miss_is_detected_and_described(name):
    draw, words = LEAKS[name]
    scorer = fit_scorer(Portfolio(classifier=QUICK, bits_from=1), TARGET, *pilot(draw), RNG(0))
    blind = QUICK.fit(TARGET, *pilot(draw), RNG(0))
    fresh = pilot(draw, seed=1)
    seen = [scorer.score(side) for side in fresh]
    assert auc(*seen) > auc(*map(blind.score, fresh))
    low, *high = np.quantile(np.concatenate(seen), [0.01, 0.9, 0.99, 0.999])
    descriptions = [scorer.describe(low, above=False), *(scorer.describe(threshold) for threshold in high)]
    assert any(words in each for each in descriptions), descriptions


def test_low_bits_are_not_read_in_a_small_pilot():
    sides = pilot(LEAKS["low bits"][0])
    assert isinstance(Portfolio(classifier=QUICK, bits_from=3_000).fit(TARGET, *sides, RNG(0)), PortfolioScorer)
    assert not isinstance(Portfolio(classifier=QUICK, bits_from=3_001).fit(TARGET, *sides, RNG(0)), PortfolioScorer)


def test_a_small_pilot_is_left_to_the_classifier():
    assert not isinstance(Portfolio(classifier=QUICK).fit(TARGET, *pilot(slipping, 999), RNG(0)), PortfolioScorer)


def test_pilot_scores_are_like_those_of_fresh_outputs():
    """Thresholds are chosen on them: scores of memorised values would be too extreme."""
    sides, fresh = pilot(few_bits), pilot(few_bits, seed=1)
    scorer = fit_scorer(Portfolio(classifier=QUICK), TARGET, *sides, RNG(0))
    held_out = scorer.score_pilot(*sides)
    for side in (0, 1):
        new, by_heart = scorer.score(fresh[side]), scorer.score(sides[side])
        sure = [np.mean(np.abs(scores) > 4.0) for scores in (held_out[side], new, by_heart)]
        assert sure[0] == pytest.approx(sure[1], abs=0.12)  # a fold less of the pilot knows fewer values
        assert sure[2] > sure[1] + 0.3
    assert stats.ks_2samp(held_out[0], scorer.score(sides[0])).pvalue < 1e-6


def test_held_out_scores_are_removed_after_use():
    scorer = Portfolio(classifier=QUICK).fit(TARGET, *pilot(few_bits), RNG(0))
    assert scorer.held_out is not None
    whole = fit_scorer(Portfolio(classifier=QUICK), TARGET, *pilot(few_bits), RNG(0))
    assert whole.base.held_out is None


def test_events_do_not_move_held_out_scores():
    out, in_ = pilot(few_bits)
    events = np.where(np.arange(3_000) % 5 == 0, "nan", "")
    sides = Outputs(out.values, events), Outputs(in_.values, events)
    scorer = fit_scorer(Portfolio(classifier=QUICK), TARGET, *sides, RNG(0))
    classifier_only = Portfolio(classifier=QUICK).fit(
        TARGET, *(Outputs(side.values[events == ""]) for side in sides), RNG(0)
    )
    for side, held_out in enumerate(scorer.score_pilot(*sides)):
        assert np.array_equal(held_out[events == ""], classifier_only.held_out[side])
        assert len(np.unique(held_out[events != ""])) == 1
