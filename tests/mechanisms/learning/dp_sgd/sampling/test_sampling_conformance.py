"""What every sampling scheme of the catalogue must do. A new one is tested by its catalogue line alone.

Required options are taken from SAMPLE by their name; a new required option needs an entry there.
"""

import math
from dataclasses import MISSING, fields
from itertools import islice

import numpy as np
import pytest
from scipy import integrate, stats

from dpassay.mechanisms.core import AccountingError, Guarantee, Relation
from dpassay.mechanisms.learning.base import TrainingData
from dpassay.mechanisms.learning.dp_sgd.accounting import _steps_guarantee
from dpassay.mechanisms.learning.dp_sgd.catalogue import build_sampling, samplings
from dpassay.mechanisms.learning.dp_sgd.mechanism import DPSGD
from dpassay.mechanisms.learning.models.architectures import SoftmaxRegression

N = 6
SAMPLE = {
    "sampling_probability": 0.5,
    "batch_size": 2,
    "n_records": N,
    "batches_per_epoch": 4,
    "participations": 2,
    "largest_batch": 3,
}
REFUSED = {
    "poisson": (Relation.REPLACE_ONE,),
    "cyclic-poisson": (Relation.ADD_REMOVE, Relation.REPLACE_ONE),
    "truncated-poisson": (Relation.ZERO_OUT, Relation.REPLACE_ONE),
    "random-allocation": (Relation.REPLACE_ONE,),
    "fixed-size": (Relation.ADD_REMOVE,),
    "shuffled": (Relation.ADD_REMOVE,),
    "cyclic": (Relation.ADD_REMOVE,),
}
"""Relations that no theorem covers."""
FALSE_ALARM = 1e-6
RUNS, STEPS = 2_000, 12

every = pytest.mark.parametrize("name", list(samplings))


def options(name):
    """Those next to the name in a configuration, `n_records` too where there is one."""
    scheme = samplings.get(name)
    known = {scheme.option_names.get(field.name, field.name): field for field in fields(scheme)}
    return {key: SAMPLE[key] for key, field in known.items() if field.default is MISSING or key in SAMPLE}


def sample(name):
    return build_sampling(name, options(name))


def trainer(name, **other):
    defaults = {"steps": STEPS, "noise_multiplier": 2.0, "view": "noisy_gradients"}
    return DPSGD(SoftmaxRegression(2, 2), sampling=name, **options(name), **defaults | other)


def taking_part(scheme, inclusion=None, steps=STEPS):
    """How often each record is in each step, `(RUNS, steps, N)`."""
    inclusions = np.zeros((RUNS, steps, N), dtype=int)
    runs = np.arange(RUNS)[:, None]
    draws = scheme.draws(N, RUNS, inclusion, np.random.default_rng(0))
    for step, draw in enumerate(islice(draws, steps)):
        rows = np.broadcast_to(np.arange(N), (RUNS, N)) if draw.rows is None else draw.rows
        counts = np.ones(rows.shape) if draw.included is None else draw.included
        np.add.at(inclusions[:, step], (np.broadcast_to(runs, rows.shape), rows), np.broadcast_to(counts, rows.shape))
    return inclusions


@every
def test_a_record_is_in_a_step_as_often_as_the_scheme_says(name):
    """Over whole epochs, and at most once in a step."""
    scheme = sample(name)
    inclusions = taking_part(scheme)
    assert inclusions.max() <= 1
    q, trials = scheme.inclusion_probability, inclusions[:, :, 0].size
    for record in range(N):
        spread = stats.norm.isf(FALSE_ALARM / 2) * math.sqrt(trials * q * (1.0 - q))
        assert abs(inclusions[:, :, record].sum() - q * trials) <= spread


@every
def test_all_runs_have_the_same_batches_exactly_where_the_scheme_says_so(name):
    inclusions = taking_part(sample(name))
    assert bool((inclusions == inclusions[:1]).all()) == sample(name).same_batches


@every
def test_a_run_uses_its_own_records_only(name):
    inclusion = np.random.default_rng(1).random((RUNS, N)) < 0.7
    inclusion[:, :2] = True
    inclusions = taking_part(sample(name), inclusion, 4 * STEPS)
    assert not inclusions.any(axis=1)[~inclusion].any()
    assert inclusions.any(axis=1)[inclusion].mean() > 0.99


@every
def test_the_claim_is_that_of_the_accountant_by_name(name):
    scheme, relation = sample(name), samplings.get(name).relation
    claim = trainer(name).guarantee()
    assert isinstance(claim, Guarantee)
    assert claim.relation is relation
    by_name = _steps_guarantee(2.0, sampling=name, steps=STEPS, relation=relation, **scheme.own_rates())
    np.testing.assert_allclose(claim.epsilon(1e-3), by_name.epsilon(1e-3), rtol=1e-9)
    assert trainer(name, steps=STEPS + 2 * N).guarantee().epsilon(1e-3) > claim.epsilon(1e-3)


@every
def test_every_accountant_that_is_named_gives_a_guarantee(name):
    scheme, relation = sample(name), samplings.get(name).relation
    for accounting in scheme.accountants:
        guarantee = _steps_guarantee(
            2.0, sampling=name, steps=STEPS, relation=relation, accounting=accounting, **scheme.own_rates()
        )
        assert 0.0 < guarantee.epsilon(1e-3) < math.inf


@every
@pytest.mark.parametrize("relation", list(Relation))
def test_a_relation_has_a_guarantee_or_is_refused(name, relation):
    scheme, account = samplings.get(name), sample(name).guarantee
    if relation in REFUSED.get(name, ()):
        assert relation is not scheme.relation
        with pytest.raises(AccountingError, match=f"{relation.value}|moves the others"):
            account(2.0, steps=STEPS, relation=relation)
    else:
        assert account(2.0, steps=STEPS, relation=relation).relation is relation


@every
def test_the_likelihood_is_a_density(name):
    """One step along one direction: it integrates to 1, whatever record is the one that differs."""
    scheme, shifts = sample(name), np.zeros((N, 1))
    shifts[0] = 1.5
    grid = np.linspace(-12.0, 14.0, 20_001)
    log_density = scheme.log_likelihood(grid[:, None, None], shifts) - 0.5 * math.log(2.0 * math.pi)
    assert integrate.trapezoid(np.exp(log_density), grid) == pytest.approx(1.0, abs=1e-9)


@every
def test_runs_on_the_worst_pair_have_the_law_that_the_likelihood_says(name):
    """E exp(log p0 - log p1) over runs on side 1 is at most 1, and 1 where nothing is impossible."""
    mechanism = trainer(name, steps=3)
    pair = mechanism.worst_case()
    outputs = mechanism.release(pair.d1, 20_000, np.random.default_rng(3))
    law = mechanism.output_law()
    ratio = np.exp(law.log_density(outputs, pair.d0) - law.log_density(outputs, pair.d1))
    assert abs(ratio.mean() - 1.0) < stats.norm.isf(FALSE_ALARM / 2) * ratio.std() / math.sqrt(len(ratio))
    assert ratio.std() > 0.1


@every
def test_training_takes_it_by_its_name(name):
    rng = np.random.default_rng(4)
    data = TrainingData(rng.normal(size=(N, 2)), np.arange(N) % 2)
    named, built = trainer(name, view="final"), trainer(name, view="final").scheme
    assert built == sample(name)
    assert len(named.release(data, 3, rng)) == 3
