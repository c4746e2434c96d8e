"""What every mechanism of the catalogue must do. A new one is tested by its catalogue line alone.

Required options are taken from SAMPLE by their name; a new required option needs an entry there.
"""

import inspect
import math
import pickle
from functools import cache

import numpy as np
import pytest
from scipy import stats

from dpassay.mechanisms.catalogue import build, catalogue, get
from dpassay.mechanisms.core import base
from dpassay.mechanisms.core.base import Mechanism, Neighbours, Outputs
from dpassay.mechanisms.core.errors import ParameterError, RelationError
from dpassay.mechanisms.core.fingerprint import describe
from dpassay.mechanisms.core.guarantee import Guarantee
from dpassay.mechanisms.core.relation import Relation
from dpassay.mechanisms.learning.models import LogisticRegression
from dpassay.mechanisms.learning.pate import GNMax, LNMax
from dpassay.mechanisms.local import RandomizedResponse
from dpassay.mechanisms.noise.laplace import Laplace
from dpassay.mechanisms.noise.queries import Domain, Marginals, Workload
from dpassay.mechanisms.query_release.tables import CensusDomain, GroupCount, TableSet, group
from dpassay.mechanisms.selection.tuning import NegativeBinomialRepetitions
from dpassay.mechanisms.synthetic_data import DirectGenerator, FixedMarginals

SAMPLE = {
    "epsilon": 0.8,
    "k": 4,
    "n_candidates": 3,
    "base": Laplace(0.8),
    "times": 2,
    "n_queries": 4,
    "model": LogisticRegression(2),
    "steps": 2,
    "noise_multiplier": 2.0,
    "mu": 1.0,
    "rate": 0.4,
    "delta": 1e-4,
    "n_records": 20,
    "randomizer": RandomizedResponse(0.8),
    "n_users": 5,
    "bound": 2,
    "rounded_to": 5,
    "domain": Domain({"sex": 2, "race": 3}),
    "selection": FixedMarginals((("sex",), ("race", "sex")), standard_deviation=2.0),
    "generator": DirectGenerator(),
    "workload": Workload({"cell": 3}, [[1, 0, 0], [0, 1, 0]]),
    "rho": 0.1,
    "threshold": 6.0,
    "marginals": Marginals({"a": 2, "b": 2}, 1),
    "aggregator": GNMax(8.0, n_teachers=60, n_classes=3, n_queries=2),
}
FEW_TABLES = TableSet(
    CensusDomain({"sex": ("female", "male"), "block": ("A", "B")}, ages=(0, 99)),
    tuple(GroupCount(people) for people in (group(block="A"), group(sex="female", block="A"), group(ages=(0, 17)))),
)
FEW_PEOPLE = {
    "geography": [1, 2],
    "domain": {"sex": 2, "age": 2},
    "structural_zeros": [{"sex": [0], "age": [1]}],
    "queries": [{"level": "nation", "attributes": ["age"]}, {"level": "county", "share": 2}],
    "invariants": [{"level": "state"}],
}
FEW_VOTES = {
    "threshold": 4.0,
    "check_deviation": 2.0,
    "answer_deviation": 3.0,
    "n_teachers": 6,
    "n_classes": 3,
    "n_queries": 2,
}
EXTRA = {
    "gaussian": {"noise_multiplier": 2.0},
    **{name: {"k": 2} for name in ("peeling-top-k", "gumbel-top-k", "gumbel-top-k-counts", "large-margin")},
    "laplace-top-k": {"k": 2, "epsilon": 0.15},
    "dp-sgd": {"sampling": "full-batch", "batch_size": 1, "view": "noisy_gradients"},
    "adaptive-clipping": {"sampling": "full-batch", "batch_size": 1, "view": "noisy_gradients", "count_noise": 4.0},
    "broken-float-laplace": {"bits": 12},
    "broken-float-gaussian": {"bits": 6},
    "broken-rounded-sum": {"dtype": "float16"},
    "column-means": {"noise_multiplier": 2.0},
    "gaussian-subset-counts": {"standard_deviation": 3.0},
    "grid-laplace": {"granularity": 0.25, "sensitivity": 0.6},
    "broken-family-counts-roots": {"parents": {"x1": ["x2"], "x2": ["x3"]}, "order": ("x3", "x2", "x1")},
    "noisy-tables": {"tables": FEW_TABLES},
    **{name: {"rounds": 1} for name in ("mwem", "gaussian-mwem", "broken-mwem-unpaid-selection")},
    "broken-online-weights-exact-errors": {"threshold": 4.0},
    "dual-query": {"n_records": 2, "rounds": 2, "samples": 1},
    "broken-dual-query-samples-counted-once": {"n_records": 2, "rounds": 2, "samples": 2},
    "laplace-matrix": {"view": "measurements"},
    **{name: {"noise_multiplier": 2.0} for name in ("gaussian-matrix", "broken-gaussian-matrix")},
    **dict.fromkeys(("gaussian-top-down", "geometric-top-down", "broken-top-down-invariants"), FEW_PEOPLE),
    "swapped-tables": {"tables": FEW_TABLES},
    "best-of-repetitions": {"n_candidates": 4, "repetitions": NegativeBinomialRepetitions(1.0, 0.5)},
    "first-good-enough": {"n_candidates": 4, "threshold": -2.0, "stopping": 0.001},
    "broken-best-of-k": {"n_candidates": 4, "k": 2},
    "broken-resampled": {"n_records": 5, "n_rows": 3},
    "count-mean-sketch": {"n_buckets": 8},
    "lnmax": {"n_teachers": 6, "n_classes": 3},
    "gnmax": {"standard_deviation": 3.0, "n_teachers": 6, "n_classes": 3, "n_queries": 2},
    "confident-gnmax": FEW_VOTES,
    "interactive-gnmax": FEW_VOTES | {"threshold": 2.0, "student": (0.5, 0.3, 0.2), "confidence": 0.4},
    "sample-and-aggregate": {"aggregator": LNMax(0.4, n_teachers=6, n_classes=3)},
    "pate": {"aggregator": LNMax(0.4, n_teachers=6, n_classes=3, n_queries=2), "view": "labels"},
    "private-vote-epsilon": {"order": 3.0},
    "broken-votes-epsilon-of-votes": {"aggregator": LNMax(0.8, n_teachers=6, n_classes=3)},
    "broken-votes-abstention-not-accounted": FEW_VOTES | {"n_queries": 5, "max_answers": 1, "check_deviation": 1.0},
}
"""Options that a mechanism needs besides the required ones, and those with which its exact curve is known."""
FALSE_ALARM = 1e-6
SIZE = 40_000
ROUNDING = 1e-9
RARE = 8.0
"""Privacy loss from which on SIZE runs do not estimate a mean ratio."""

NO_DENSITY = {"noisy-projected-sgd", "broken-votes-teachers-kept", "post-processed", "swapped-tables"}
"""Mechanisms whose output law is not known: what stands on densities is not asked of them."""

NO_NOISE = {"broken-votes-check-without-noise", "broken-zero-sensitivity", "rounded-subset-counts"}
NAMES = [name for name in catalogue if not name.startswith("broken-dp-sgd-") and name not in NO_NOISE]
"""Broken trainers, and what adds no noise, have laws that no correct mechanism has, and tests of their own."""

every = pytest.mark.parametrize("name", NAMES)
dense = pytest.mark.parametrize("name", [name for name in NAMES if name not in NO_DENSITY])


@cache
def sample(name: str) -> Mechanism:
    parameters = inspect.signature(get(name)).parameters.values()
    extra = EXTRA.get(name, {})
    required = {p.name: SAMPLE[p.name] for p in parameters if p.default is p.empty and p.name not in extra}
    mechanism = build(name, **(required | extra))
    assert isinstance(mechanism, Mechanism)
    return mechanism


@cache
def runs(name: str, side: int) -> Outputs:
    """Many runs on a side of the worst case."""
    return sample(name).release(sample(name).worst_case().side(side), SIZE, np.random.default_rng([7, side]))


@cache
def losses(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Privacy losses ln(density on the own side / density on the other) of runs on side 0 and side 1; inf where the
    other side cannot give the output."""
    mechanism, pair = sample(name), sample(name).worst_case()
    results = []
    for side in (0, 1):
        outputs = runs(name, side)
        own, other = (mechanism.output_law().log_density(outputs, pair.side(s)) for s in (side, 1 - side))
        results.append(own - other)
    return results[0], results[1]


@dense
def test_law_allows_outputs_of_its_side_and_of_the_other_where_delta_is_0(name):
    """Such an output would be a witness against the claim: see dpassay.audit.results.witness."""
    leaves_no_delta = float(sample(name).guarantee().delta(math.inf)) == 0.0 and not name.startswith("broken")
    for loss in losses(name):
        assert not (loss == -np.inf).any()
        assert not (leaves_no_delta and (loss == np.inf).any())


@every
def test_options_are_frozen_and_equal_options_are_equal_mechanisms(name):
    mechanism = sample(name)
    field = next(iter(inspect.signature(type(mechanism)).parameters))
    with pytest.raises(AttributeError):
        setattr(mechanism, field, 1.0)
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism
    assert "0x" not in repr(mechanism)


@every
def test_relation_is_one_and_shared_by_pair_and_claim(name):
    mechanism = sample(name)
    assert isinstance(mechanism.relation, Relation)
    assert mechanism.worst_case().relation is mechanism.relation
    assert mechanism.guarantee().relation in (None, mechanism.relation)


@every
def test_worst_case_passes_its_own_check_and_other_relations_do_not(name):
    mechanism = sample(name)
    pair = mechanism.worst_case()
    assert type(mechanism.bind(pair)) is type(mechanism)
    for relation in set(Relation) - {mechanism.relation}:
        with pytest.raises(RelationError):
            mechanism.bind(Neighbours(pair.d0, pair.d1, relation))


@every
def test_release_gives_one_row_a_run_whatever_the_size(name):
    mechanism, d0 = sample(name), sample(name).worst_case().d0
    shapes = {mechanism.release(d0, size, np.random.default_rng(0)).values.shape[1:] for size in (0, 1, 5)}
    assert len(shapes) == 1
    outputs = mechanism.release(d0, 5, np.random.default_rng(0))
    assert isinstance(outputs, Outputs)
    assert len(outputs) == 5
    assert outputs.values.dtype.kind in "iuf"
    assert outputs.events is None


@every
def test_release_depends_on_the_generator_only_and_keeps_the_dataset(name):
    mechanism, pair = sample(name), sample(name).worst_case()
    varies = False
    for data in (pair.d0, pair.d1):
        before = describe(data)
        first, again, other = (mechanism.release(data, 400, np.random.default_rng(seed)).values for seed in (1, 1, 2))
        np.testing.assert_array_equal(first, again)
        varies |= not np.array_equal(first, other)
        assert describe(data) == before
    assert varies


@dense
def test_runs_are_independent_of_their_neighbours_in_the_chunk(name):
    """Lag-one correlation of the privacy losses of consecutive runs, or of outputs, where the losses never vary."""
    bounded = [np.tanh(loss) for loss in losses(name)]  # an infinite loss has no correlation
    seen = next((loss for loss in bounded if np.ptp(loss) > ROUNDING), runs(name, 0).values.reshape(SIZE, -1)[:, 0])
    correlation = np.corrcoef(seen[:-1], seen[1:])[0, 1]
    assert abs(correlation) < stats.norm.isf(FALSE_ALARM / 2) / math.sqrt(SIZE)


@dense
def test_log_density_gives_one_number_per_run_and_keeps_the_outputs(name):
    mechanism, d0 = sample(name), sample(name).worst_case().d0
    law = mechanism.output_law()
    assert law is not None
    outputs = mechanism.release(d0, 50, np.random.default_rng(3))
    before = outputs.values.copy()
    density = law.log_density(outputs, d0)
    assert density.shape == (50,)
    assert density.dtype == np.float64
    assert np.isfinite(density).all()
    np.testing.assert_array_equal(outputs.values, before)


@dense
def test_density_ratio_averages_to_one(name):
    """E[q(Y) / p(Y)] = 1 for Y from p, on both sides: a test of the density and of the sampler together.

    Where p cannot give all that q gives, it is the share of q that p can give. Where p gives some of it too rarely to
    be seen, the two sides agree on what they share: E_p[min(1, q / p)] = E_q[min(1, p / q)]."""
    if max(loss[np.isfinite(loss)].max(initial=0.0) for loss in losses(name)) > RARE:
        first, second = (np.minimum(1.0, np.exp(-loss)) for loss in losses(name))
        error = math.sqrt((first.var() + second.var()) / SIZE)
        assert abs(first.mean() - second.mean()) <= stats.norm.isf(FALSE_ALARM / 2) * error + 1e-4
        return
    for loss, other in (losses(name), losses(name)[::-1]):
        ratio, shared = np.exp(-loss), np.isfinite(other)
        error = math.sqrt((ratio.var() + shared.var()) / SIZE)
        assert error > 0 or not shared.any()
        assert abs(ratio.mean() - shared.mean()) <= stats.norm.isf(FALSE_ALARM / 2) * error


def exact_or_claimed(mechanism: Mechanism) -> Guarantee:
    truth = mechanism.exact_guarantee()
    return mechanism.guarantee() if truth is None else truth


@dense
def test_exact_guarantee_is_the_hockey_stick_divergence_of_the_densities(name):
    """delta(t) = max over sides of E[(1 - e^(t - loss))+], a bounded mean: Hoeffding's limit on both sides."""
    mechanism = sample(name)
    truth = mechanism.exact_guarantee()
    assert truth is not None, "a mechanism with a known density has a known exact curve on its worst case"
    limit = math.sqrt(math.log(2 * 10 / FALSE_ALARM) / (2 * SIZE))
    top = min(truth.epsilon(1e-6), 30.0)
    for t in np.linspace(0.0, top, 5):
        seen = max(float(np.mean(np.maximum(0.0, -np.expm1(np.minimum(0.0, t - loss))))) for loss in losses(name))
        assert truth.delta(float(t)) == pytest.approx(seen, abs=limit)


@dense
def test_no_loss_exceeds_the_true_epsilon_at_delta_zero(name):
    worst = max(loss.max() for loss in losses(name))
    epsilon = exact_or_claimed(sample(name)).epsilon(0.0)
    assert worst <= epsilon * (1 + 1e-9)
    if math.isfinite(epsilon) and name != "repeated":
        assert worst == pytest.approx(epsilon, rel=1e-3)  # and it is attained


@every
def test_claim_is_above_the_exact_guarantee_unless_broken(name):
    mechanism = sample(name)
    claim, truth = mechanism.guarantee(), exact_or_claimed(mechanism)
    deltas = np.array([0.0, 1e-6, 1e-3, 0.1, claim.default_delta or 0.0])
    with np.errstate(invalid="ignore"):
        excess = np.asarray(truth.epsilon(deltas)) - np.asarray(claim.epsilon(deltas))
    if name.startswith("broken-"):
        assert np.nanmax(excess) > 0.01  # infinite against infinite says nothing
    else:
        assert np.all(~(excess > 1e-3 if name == "repeated" else excess > 1e-9))


@pytest.mark.parametrize("name", [name for name in NAMES if "epsilon" in inspect.signature(get(name)).parameters])
def test_bad_epsilon_is_refused_by_name(name):
    parameters = inspect.signature(get(name)).parameters
    required = {p: SAMPLE[p] for p in parameters if parameters[p].default is inspect.Parameter.empty}
    extra = {"delta": 1e-5} if "delta" in parameters else {}
    for value in (0.0, -1.0, math.nan, math.inf, "1"):
        with pytest.raises(ParameterError, match="epsilon must be"):
            build(name, **(required | extra | {"epsilon": value}))


@pytest.mark.parametrize("name", sorted(NO_DENSITY))
def test_only_mechanisms_without_a_density_are_let_off(name):
    assert sample(name).output_law() is None


def test_a_mechanism_has_eight_public_members_all_in_the_overview():
    members = [name for name in {**vars(Mechanism), **Mechanism.__annotations__} if not name.startswith("_")]
    assert len(members) <= 8
    lines = [line.split()[0] for line in base.__doc__.splitlines() if line.startswith("    ")]
    assert set(members) <= set(lines)


@every
def test_docstring_states_arguments_and_has_an_example(name):
    text = inspect.getdoc(get(name)) or ""
    assert "Args:" in text
    assert ">>>" in text
