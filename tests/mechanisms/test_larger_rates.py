"""Worst cases of every mechanism differ, and show a mechanism that spends three times its budget.

A pair may be tight at the rate of the claim by an event that has almost no probability at three times the rate. The
faster mechanism then looks private. Each mechanism of the catalogue is tried at five sets of options in general
position: other sizes of both parities, small and large budgets, other relations. `_loss_powers` of the class says which
options scale the loss.

Claims can be so loose that no pair shows a factor of three. The pair is therefore compared with the worst case of the
faster mechanism: where that one refutes the claim in these runs, the pair must refute it as well.
"""

from dataclasses import fields, replace
from functools import partial
from itertools import islice

import numpy as np
import pytest
from scipy import stats
from tests.mechanisms.test_conformance import sample

from dpassay.mechanisms.catalogue import catalogue
from dpassay.mechanisms.core import DpassayError, Mechanism, Neighbours, Relation, describe
from dpassay.mechanisms.literature.query_release.multiplicative_weights import SmallDatabase
from dpassay.mechanisms.noise.queries import Workload

RUNS = 20_000
NAMES = [name for name in catalogue if not name.startswith("broken-")]
SIZES = (lambda n: n + 1, lambda n: 2 * n + 1, lambda n: 4 * n, lambda n: 3 * n)
BUDGETS = (0.3, 1.7, 4.0, 0.5)
SMALL = {"ngram-counts": ("n",), "noisy-projected-sgd": ("n_records",)}
"""Sizes that are not enlarged, because the number of outputs or of steps grows too fast with them."""


HIDES = {
    "pate": "the lead at which LNMax has an answer once in a hundred runs has none at three times the rate",
    "sample-and-aggregate": "see pate",
    "gaussian-mwem": "several rounds at a small budget, without a fixed number of records",
    "peeling-top-k": "eight choices of epsilon 3.2",
    "gumbel-top-k": "see peeling-top-k",
    "large-margin": "eight choices of epsilon 3.2",
}
"""Mechanisms whose worst case hides three times the rate at some of these options, and where."""


def known(*hiding):
    """Names of mechanisms, those that hide larger rates with an expected failure."""
    strict = pytest.mark.xfail(
        strict=True, raises=AssertionError, reason="the worst case hides larger rates: see HIDES"
    )
    return [pytest.param(name, marks=strict) if name in hiding else name for name in NAMES]


def rescaled(mechanism, change):
    """The mechanism with `change(name, value, power)` in place of options that scale its loss; None without such."""
    made = {field.name: getattr(mechanism, field.name) for field in fields(mechanism) if field.init}
    within = {
        name: rescaled(value, change)
        if isinstance(value, Mechanism)
        else tuple(rescaled(base, change) for base in value)
        for name, value in made.items()
        if isinstance(value, Mechanism) or (isinstance(value, tuple) and value and isinstance(value[0], Mechanism))
    }
    options = within or {
        name: change(name, value, mechanism._loss_powers[name])
        for name, value in made.items()
        if name in mechanism._loss_powers and value is not None
    }
    return replace(mechanism, **options) if options and None not in options.values() else None


def scaled(mechanism, factor):
    """The mechanism with `factor` times the privacy loss; None where no option scales it."""
    return rescaled(mechanism, lambda name, value, power: value * factor**power)


def in_general_position(name, mechanism):
    """Yield the mechanism, and variants with other budgets, sizes and relations."""
    yield mechanism
    for k, (size, budget) in enumerate(zip(SIZES, BUDGETS, strict=True)):
        other = unless_refused(partial(scaled, mechanism, budget)) or mechanism
        for field in (field for field in fields(mechanism) if field.init and field.name not in SMALL.get(name, ())):
            value = getattr(mechanism, field.name)
            if isinstance(value, Relation):
                value = tuple(Relation)[k % len(Relation)]
            elif type(value) is int and value > 0:
                value = size(value)
            else:
                continue
            other = unless_refused(partial(usable, other, field.name, value)) or other
        yield other


def usable(mechanism, name, value):
    """The mechanism with this option, if it has a worst case and a claim."""
    made = replace(mechanism, **{name: value})
    made.bind(made.worst_case())
    return made


def unless_refused(make):
    try:
        return make()
    except DpassayError:
        return None


def losses(mechanism, pair, seed):
    """Privacy losses of runs on both sides, by the law of the mechanism."""
    law, result = mechanism.output_law(), []
    for side in (0, 1):
        outputs = mechanism.release(pair.side(side), RUNS, np.random.default_rng([seed, side]))
        density0, density1 = (law.log_density(outputs, data) for data in (pair.d0, pair.d1))
        with np.errstate(invalid="ignore"):
            result.append(np.nan_to_num(density1 - density0, posinf=1e300, neginf=-1e300))
    return result


def margin(outside, inside, thresholds, claim, significance):
    """Excess of the hit rate over what the claim allows, both at their limits, at each threshold."""
    n = len(outside)
    hits0, hits1 = (n - np.searchsorted(np.sort(scores), thresholds - 1e-9) for scores in (outside, inside))
    fpr = np.where(hits0 == n, 1.0, stats.beta.isf(significance, hits0 + 1, np.maximum(n - hits0, 1e-9)))
    tpr = np.where(hits1 == 0, 0.0, stats.beta.ppf(significance, np.maximum(hits1, 1e-9), n - hits1 + 1))
    return tpr - 1.0 + np.asarray(claim.tradeoff(np.minimum(fpr, 1.0)))


def refutes(mechanism, pair, claim):
    """True if runs on the pair refute the claim: half of them choose the threshold, and the others are counted."""
    half, (loss0, loss1) = RUNS // 2, losses(mechanism.bind(pair), pair, 0)
    for outside, inside in ((loss0, loss1), (-loss1, -loss0)):
        thresholds = np.unique(np.concatenate([outside[:half], inside[:half]]))
        thresholds = thresholds[:: max(1, len(thresholds) // 400)]
        best = thresholds[margin(outside[:half], inside[:half], thresholds, claim, 1e-2).argmax()]
        if margin(outside[half:], inside[half:], np.array([best]), claim, 1e-3)[0] > 0.0:
            return True
    return False


def shows_larger_rates(mechanism):
    """None where no option scales the loss, or the law is unknown."""
    faster = unless_refused(lambda: scaled(mechanism, 3.0))
    if faster is None or mechanism.output_law() is None:
        return None
    claim = mechanism.guarantee()
    return refutes(faster, mechanism.worst_case(), claim) or not refutes(faster, faster.worst_case(), claim)


def check(name, mechanism):
    pair = mechanism.worst_case()
    assert describe(pair.d0) != describe(pair.d1), mechanism
    assert shows_larger_rates(mechanism) is not False, mechanism


@pytest.mark.parametrize("name", known("pate"))
def test_worst_case_differs_and_shows_three_times_the_rate(name):
    check(name, sample(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", known(*HIDES))
def test_worst_case_shows_three_times_the_rate_in_general_position(name):
    for mechanism in islice(in_general_position(name, sample(name)), 1, None):
        check(name, mechanism)


def test_a_pair_that_hides_three_times_the_rate_is_found_out():
    """A split of 200 records at which one database leads all others at every rate."""
    mechanism = SmallDatabase(Workload.prefixes({"age": 4}), 200, epsilon=1.0, n_rows=2)
    sides = (np.repeat(np.arange(4), counts)[:, None] for counts in ([163, 0, 36, 1], [164, 0, 36, 0]))
    hides, claim, faster = Neighbours(*sides, "replace_one"), mechanism.guarantee(), scaled(mechanism, 3.0)
    assert not refutes(faster, hides, claim)
    assert refutes(faster, mechanism.worst_case(), claim)
    assert not refutes(mechanism, mechanism.worst_case(), claim)
