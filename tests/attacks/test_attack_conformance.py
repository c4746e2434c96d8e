"""What every attack in the catalogue keeps, found by itself when a new one is added."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.attacks.attack_laws import auc, check_scorer

from dpassay.attacks import base
from dpassay.attacks.base import Attack, Target
from dpassay.attacks.catalogue import catalogue, choose
from dpassay.attacks.distinguishing import Classifier, LikelihoodRatio, Portfolio, Threshold
from dpassay.attacks.distinguishing.canary_attacks import TargetedAttack
from dpassay.attacks.distinguishing.events import fit_scorer
from dpassay.attacks.literature.synthetic_tables import TableAttack
from dpassay.attacks.literature.tracing import Tracing
from dpassay.mechanisms.catalogue import catalogue as mechanisms
from dpassay.mechanisms.core import LogDensity, Mechanism, Neighbours, Outputs, ParameterError, UnknownNameError

PAIR = Neighbours(0.0, 1.5, "add_remove")
SWAPPED = Neighbours(1.5, 0.0, "add_remove")


class BlackBox(Mechanism):
    """Laplace noise of scale 1 on a number; its law is not given."""

    def release(self, dataset: Any, size: int, rng: np.random.Generator) -> Outputs:
        return Outputs(dataset + rng.laplace(size=size))

    def guarantee(self) -> Any:
        raise NotImplementedError

    def worst_case(self) -> Neighbours:
        return PAIR


class OpenBox(BlackBox):
    """The same with its law."""

    def output_law(self) -> LogDensity:
        return self

    def log_density(self, outputs: Outputs, dataset: Any) -> np.ndarray:
        return -np.abs(outputs.values - dataset) - np.log(2.0)


OPEN, BLACK = Target(OpenBox(), PAIR), Target(BlackBox(), PAIR)


@dataclass(frozen=True)
class Own(Attack):
    """A user's attack."""

    def fit(self, target: Target, pilot0: Outputs, pilot1: Outputs, rng: np.random.Generator) -> Any:
        return Threshold().fit(target, pilot0, pilot1, rng)


def pilot(pair: Neighbours, n: int = 2_000, seed: int = 0) -> tuple[Outputs, Outputs]:
    rng = np.random.default_rng(seed)
    return OpenBox().release(pair.d0, n, rng), OpenBox().release(pair.d1, n, rng)


@cache
def fitted(name: str, pair: Neighbours = PAIR) -> Any:
    return fit_scorer(catalogue.build(name), Target(OpenBox(), pair), *pilot(pair), np.random.default_rng(1))


every_attack = pytest.mark.parametrize(
    "name", [n for n in catalogue if not issubclass(catalogue.get(n), TargetedAttack | TableAttack | Tracing)]
)
"""Those on trained models, on synthetic tables and on studies have their own tests, in test_canary_attacks.py,
test_synthesis_conformance.py and test_tracing_attack.py."""


@every_attack
@pytest.mark.parametrize("pair", [PAIR, SWAPPED], ids=["side 1 above", "side 1 below"])
def test_higher_score_means_side_1(name: str, pair: Neighbours) -> None:
    scorer = fitted(name, pair)
    out, in_ = (scorer.score(o) for o in pilot(pair, seed=2))
    assert auc(out, in_) > 0.7


@every_attack
def test_scorers_score_each_run_independently(name: str) -> None:
    check_scorer(fitted(name), pilot(PAIR, 501, seed=4)[0].values)


@every_attack
def test_extreme_outputs_are_scored_without_warnings(name: str) -> None:
    huge = np.finfo(np.float64).max
    scores = fitted(name).score(Outputs(np.array([0.0, -0.0, huge / 4, -huge / 4, 5e-324, 1e17, np.nan, np.inf])))
    assert not np.isnan(scores).any()


@every_attack
def test_outputs_that_never_vary_get_one_score(name: str) -> None:
    same = Outputs(np.full(100, 0.25))
    scorer = fit_scorer(catalogue.build(name), OPEN, same, same, np.random.default_rng(0))
    assert len(np.unique(scorer.score(same))) == 1


@every_attack
def test_scorers_are_determined_by_pilot_and_rng_and_change_neither_side(name: str) -> None:
    sides, fresh = pilot(PAIR), pilot(PAIR, 500, seed=3)[1]
    for side in sides:
        side.values.flags.writeable = False
    again = fit_scorer(catalogue.build(name), OPEN, *sides, np.random.default_rng(1))
    assert again.score(fresh).tobytes() == fitted(name).score(fresh).tobytes()


@every_attack
def test_only_attacks_that_learn_depend_on_the_pilot(name: str) -> None:
    attack, fresh = catalogue.build(name), pilot(PAIR, 200, seed=5)[0]
    one, other = (attack.fit(OPEN, *pilot(pair), np.random.default_rng(0)).score(fresh) for pair in (PAIR, SWAPPED))
    assert np.array_equal(one, other) is (attack.minimum_pilot == 0)


@every_attack
def test_every_attack_has_a_summary_and_an_example(name: str) -> None:
    assert catalogue.summary(name).endswith((".", ","))
    assert "Example:" in (catalogue.get(name).__doc__ or "")


def test_auto_is_the_likelihood_ratio_where_the_law_is_known() -> None:
    name, attack = choose("auto", OPEN)
    assert name == "likelihood-ratio"
    assert isinstance(attack, LikelihoodRatio)


def test_auto_is_the_portfolio_on_external_code_only() -> None:
    assert choose("auto", BLACK) == ("portfolio", Portfolio())
    ours = mechanisms.build("broken-dp-sgd-realised-batch-size")
    assert choose("auto", Target(ours, ours.worst_case())) == ("classifier", Classifier())


def test_an_attack_has_four_documented_public_members() -> None:
    members = [name for name in {**vars(Attack), **Attack.__annotations__} if not name.startswith("_")]
    assert len(members) <= 4
    assert base.__doc__ is not None
    lines = [line.split()[0] for line in base.__doc__.splitlines() if line.startswith("    ")]
    assert set(members) <= set(lines)


def test_an_attack_is_chosen_by_name_or_given() -> None:
    assert choose("threshold", BLACK) == ("threshold", Threshold())
    assert choose(Threshold(statistic="sum"), BLACK) == ("threshold", Threshold(statistic="sum"))
    assert choose(Own(), BLACK) == ("Own", Own())
    name, attack = choose(LikelihoodRatio(), OPEN)
    assert name == "likelihood-ratio"
    assert isinstance(attack, LikelihoodRatio)


def test_an_unknown_name_is_refused_with_the_nearest_ones() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown attack 'treshold'. Did you mean 'threshold'"):
        choose("treshold", BLACK)


@pytest.mark.parametrize("attack", [Classifier, object(), None, 3], ids=["a class", "an object", "None", "a number"])
def test_other_objects_are_refused(attack: Any) -> None:
    with pytest.raises(
        ParameterError, match=r"attack must be 'auto', a name .* or an instance of Attack, but is .*A custom class"
    ):
        choose(attack, BLACK)
