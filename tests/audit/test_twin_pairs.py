"""Broken functions are violations and their correct twins are not, at a confidence of 99.99 %, whatever they return."""

import pytest
from tests.audit.twins import PAIR, TWINS

from dpassay.attacks.distinguishing import Classifier, Portfolio
from dpassay.audit import audit
from dpassay.mechanisms import PureDP

pytestmark = pytest.mark.usefixtures("without_power", "few_chunks")


QUICK = Portfolio(classifier=Classifier(model="logistic"))
"""As "auto", without the contest of models."""


def audited(make, broken, seed, trials, attack):
    options = {"trials": trials, "confidence": 0.9999, "seed": seed, "bound": "clopper-pearson", "attack": attack}
    return audit(make(broken), PAIR, claim=PureDP(1.0), **options).verdict.value


def wrong(make, seeds, trials, attack="auto"):
    """What came out otherwise than it must."""
    right = {True: "violation", False: "consistent"}
    verdicts = {(seed, broken): audited(make, broken, seed, trials, attack) for seed in seeds for broken in right}
    return {key: verdict for key, verdict in verdicts.items() if verdict != right[key[1]]}


@pytest.mark.parametrize("make", TWINS, ids=lambda make: make.__name__)
def test_the_broken_function_is_a_violation_and_its_twin_is_consistent(make):
    assert not wrong(make, [0], 250, QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("make", TWINS, ids=lambda make: make.__name__)
def test_the_same_over_twenty_seeds(make):
    assert not wrong(make, range(20), 1_000)


def test_there_are_at_least_twenty_pairs():
    assert len({make.__name__ for make in TWINS}) == len(TWINS) >= 20
