"""What is audited is what runs: `release` draws its noise by the one method that draws it, whatever the view.

For each mechanism with several views, or with methods besides `release` that a user calls for one model, table or
answer, the method that draws the noise is replaced by one with a tenth of the noise. Each view of `release` and each
of these methods must become less random. `SEVERAL_VIEWS` fails for a new mechanism with views that is not listed.
"""

import inspect
from dataclasses import fields, replace

import numpy as np
import pytest

from dpassay.mechanisms.catalogue import catalogue, get
from dpassay.mechanisms.combinators import Parallel, PostProcessed, UserLevel
from dpassay.mechanisms.combinators.repeated import Repeated
from dpassay.mechanisms.core import ParameterError
from dpassay.mechanisms.learning.base import TrainingData
from dpassay.mechanisms.learning.dp_sgd import DPSGD, AdaptiveClippingDPSGD
from dpassay.mechanisms.learning.dp_sgd.adaptive_clipping import AdaptiveTrainer
from dpassay.mechanisms.learning.dp_sgd.training import Trainer
from dpassay.mechanisms.learning.models.architectures import LogisticRegression
from dpassay.mechanisms.literature.convex import NoisyProjectedSGD
from dpassay.mechanisms.literature.counts import Answerer, LaplaceSubsetCounts
from dpassay.mechanisms.literature.federated import FederatedAveraging, LocalNoiseAveraging
from dpassay.mechanisms.literature.pate import PATE, ConfidentGNMax, GNMax, LNMax
from dpassay.mechanisms.literature.pate.confident import CheckedGNMax
from dpassay.mechanisms.literature.query_release.matrix import GaussianMatrixMechanism, LaplaceMatrixMechanism
from dpassay.mechanisms.literature.query_release.multiplicative_weights import (
    MWEM,
    DualQuery,
    GaussianMWEM,
    PrivateMultiplicativeWeights,
)
from dpassay.mechanisms.literature.query_release.top_down import GaussianTopDown, GeometricTopDown
from dpassay.mechanisms.literature.shuffle import Shuffled
from dpassay.mechanisms.literature.synthetic_data import (
    AIM,
    MST,
    CodedTable,
    DirectGenerator,
    FixedMarginals,
    NoisyHistogramTable,
    SelectMeasureGenerate,
)
from dpassay.mechanisms.literature.synthetic_data.deniability import NoisyEntropies
from dpassay.mechanisms.literature.synthetic_data.select_measure_generate import _marginals_of
from dpassay.mechanisms.local import KAryRandomizedResponse, RandomizedResponse
from dpassay.mechanisms.noise import DiscreteGaussian
from dpassay.mechanisms.noise.geometric import Geometric
from dpassay.mechanisms.noise.laplace import Laplace
from dpassay.mechanisms.noise.queries import Count, Domain, Marginals, Workload

RUNS = 300
LESS = 0.5
"""The spread with a tenth of the noise must be below this share of the spread with all of it."""
DOMAIN = Domain({"a": 3, "b": 2})
PEOPLE = np.column_stack([np.repeat([0, 1, 2], [90, 60, 50]), np.tile([0, 1], 100)])
ALIKE = np.column_stack([PEOPLE[:, 0], np.minimum(PEOPLE[:, 0], 1)])
EXAMPLES = TrainingData(np.tile([[1.0, 0.5], [-0.5, 1.0]], (4, 1)), np.tile([0, 1], 4))
CLIENTS = [(EXAMPLES.X[:3], EXAMPLES.y[:3]), (EXAMPLES.X[3:], EXAMPLES.y[3:])]
AGES = np.repeat([1, 4], 50)
VOTERS = TrainingData(np.linspace(-1.0, 1.0, 40)[:, None], np.repeat([0, 1], 20))
CENSUS = np.repeat([[0, 0, 1, 1, 0], [0, 2, 0, 1, 0], [1, 0, 2, 0, 1], [4, 0, 1, 1, 1]], 60, axis=0)


class Quiet(np.random.Generator):
    """A generator whose noise is a tenth as large, and whose uniform numbers all but agree."""

    def standard_normal(self, *args, **options):
        drawn = super().standard_normal(*args, **options)
        drawn *= 0.1
        return drawn

    def standard_exponential(self, *args, **options):
        return 0.1 * super().standard_exponential(*args, **options)

    def laplace(self, *args, **options):
        return 0.1 * super().laplace(*args, **options)

    def gumbel(self, *args, **options):
        return 0.1 * super().gumbel(*args, **options)

    def random(self, *args, **options):
        return 1.0 - 1e-9 * super().random(*args, **options)


def make_quiet(monkeypatch, kind, name):
    """Replaces a method that draws by one that draws with a `Quiet` generator."""
    original = getattr(kind, name)
    signature = inspect.signature(original)

    def drawing(*args, **options):
        bound = signature.bind(*args, **options)
        bound.arguments["rng"] = Quiet(bound.arguments["rng"].bit_generator)
        return original(*bound.args, **bound.kwargs)

    monkeypatch.setattr(kind, name, drawing)


def synthetic(selection):
    return SelectMeasureGenerate(DOMAIN, selection, DirectGenerator(tolerance=0.1), n_rows=200)


def measured(mechanism, rng):
    parts = mechanism.selection.measure(CodedTable.of(DOMAIN, PEOPLE), mechanism.generator, RUNS, rng)
    return mechanism.selection.transcript(DOMAIN, parts, RUNS)


def ask_program(mechanism, rng):
    """Answers of the interface that keeps its state, with the noise of the mechanism."""
    return Answerer(np.tile([0, 1], (RUNS, 5)), rng, noise=Laplace(1.0)).ask(np.ones(10))


def subsets(mechanism, rng):
    return mechanism.fit_subsets(EXAMPLES, np.ones((RUNS, len(EXAMPLES)), dtype=bool), rng).parameters


def released_subsets(mechanism, rng):
    return mechanism.release_subsets(EXAMPLES, np.ones((RUNS, len(EXAMPLES)), dtype=bool), rng).values


LOGISTIC = LogisticRegression(2)
MEASURED = {"measure": measured, "synthesised": lambda m, rng: m.synthesised(PEOPLE, RUNS, rng).marginal(("a", "b"))}
TRAINED = {
    "fit": lambda m, rng: m.fit(EXAMPLES, RUNS, rng).parameters,
    "fit_subsets": subsets,
    "release_subsets": released_subsets,
}
LABELS = {"labels": lambda m, rng: m.labels(VOTERS, RUNS, rng)}
CASES = {
    "select-measure-generate": (
        (FixedMarginals, "measure"),
        synthetic(FixedMarginals((("a", "b"),), standard_deviation=15.0)),
        PEOPLE,
        MEASURED,
    ),
    "select-measure-generate, Laplace": (
        (Laplace, "_draw"),
        synthetic(FixedMarginals((("a",), ("b",)), noise="laplace", standard_deviation=15.0)),
        PEOPLE,
        MEASURED,
    ),
    "select-measure-generate, MST": ((MST, "measure"), synthetic(MST(rho=0.01)), PEOPLE, MEASURED),
    "select-measure-generate, AIM": ((AIM, "measure"), synthetic(AIM(rho=0.01, rounds=4)), PEOPLE, MEASURED),
    "noisy-histogram-table": (
        (Geometric, "_draw"),
        NoisyHistogramTable(0.1, DOMAIN, n_rows=2000),
        PEOPLE,
        {},
    ),
    "pate": ((LNMax, "answers"), PATE(LNMax(0.1, n_teachers=10, n_classes=2, n_queries=4)), VOTERS, LABELS),
    "pate, Gaussian": ((GNMax, "answers"), PATE(GNMax(9.0, n_teachers=10, n_classes=2, n_queries=4)), VOTERS, LABELS),
    "pate, checks": (
        (CheckedGNMax, "passes"),
        PATE(ConfidentGNMax(8.0, 9.0, 0.1, n_teachers=10, n_classes=2, n_queries=4)),
        VOTERS,
        LABELS,
    ),
    "gaussian-top-down": ((DiscreteGaussian, "_draw"), GaussianTopDown(0.5), CENSUS, {}),
    "geometric-top-down": ((Geometric, "_draw"), GeometricTopDown(2.0), CENSUS, {}),
    "mwem": (
        (MWEM, "_draw"),
        MWEM(Workload({"age": 6}, [[1, 1, 1, 0, 0, 0]]), 100, epsilon=0.2, rounds=2),
        AGES,
        {},
    ),
    "gaussian-mwem": (
        (GaussianMWEM, "_draw"),
        GaussianMWEM(Workload({"age": 6}, [[1, 1, 1, 0, 0, 0]]), 100, rho=0.01, rounds=2),
        AGES,
        {},
    ),
    "online-multiplicative-weights": (
        (PrivateMultiplicativeWeights, "_block"),
        PrivateMultiplicativeWeights(Workload.prefixes({"age": 6}), 100, epsilon=0.5, threshold=1.0, n_updates=3),
        AGES,
        {},
    ),
    "dual-query": (
        (DualQuery, "_block"),
        DualQuery(Marginals({"a": 2, "b": 2}, 1), 100, epsilon=1.0, rounds=3, samples=2),
        np.repeat([[0, 1]], 100, axis=0),
        {},
    ),
    "laplace-matrix": (
        (Laplace, "_draw"),
        LaplaceMatrixMechanism(1.0, workload=Workload.prefixes({"age": 6})),
        AGES,
        {},
    ),
    "gaussian-matrix": (
        (GaussianMatrixMechanism, "release"),
        GaussianMatrixMechanism(noise_multiplier=2.0, workload=Workload.prefixes({"age": 6})),
        AGES,
        {},
    ),
    "noisy-entropies": (
        (NoisyEntropies, "release"),
        NoisyEntropies({"a": 3, "b": 2}, n_records=200, epsilon_each=0.1),
        ALIKE,
        {},
    ),
    "dp-sgd": (
        (Trainer, "add_noise"),
        DPSGD(LOGISTIC, noise_multiplier=2.0, steps=3, sampling="full-batch", batch_size=8, dtype="float64"),
        EXAMPLES,
        TRAINED,
    ),
    "adaptive-clipping": (
        (AdaptiveTrainer, "add_noise"),
        AdaptiveClippingDPSGD(
            LOGISTIC, noise_multiplier=2.0, count_noise=4.0, steps=3, sampling="full-batch", batch_size=8
        ),
        EXAMPLES,
        TRAINED,
    ),
    "federated-averaging": (
        (FederatedAveraging, "_train"),
        FederatedAveraging(LOGISTIC, noise_multiplier=1.0, rounds=2),
        CLIENTS,
        {},
    ),
    "federated-local-noise": (
        (LocalNoiseAveraging, "release"),
        LocalNoiseAveraging(LOGISTIC, noise_multiplier=1.0, rounds=2),
        CLIENTS,
        {},
    ),
    "noisy-projected-sgd": (
        (NoisyProjectedSGD, "release"),
        NoisyProjectedSGD(0.5, 1e-5, n_records=8, steps=4),
        EXAMPLES,
        {},
    ),
    "shuffled": (
        (RandomizedResponse, "_randomize"),
        Shuffled(RandomizedResponse(0.5), 20),
        np.tile([0, 1], 10),
        {},
    ),
    "shuffled, many values": (
        (KAryRandomizedResponse, "_randomize"),
        Shuffled(KAryRandomizedResponse(0.5, 4), 20),
        np.tile([0, 1, 2, 3], 5),
        {},
    ),
    "laplace-subset-counts": (
        (Laplace, "_draw"),
        LaplaceSubsetCounts(epsilon=1.0, n_records=10, n_queries=4),
        np.tile([0, 1], 5),
        {"ask": ask_program},
    ),
    "repeated": ((Laplace, "_draw"), Repeated(Laplace(1.0), 3), 0.0, {}),
    "parallel": ((Laplace, "_draw"), Parallel(), [[0, 1.0], [1, 1.0]], {}),
    "post-processed": ((Laplace, "release"), PostProcessed(Laplace(1.0), np.abs), 0.0, {}),
    "user-level": ((Laplace, "release"), UserLevel(Laplace(1.0, query=Count())), (np.arange(4), np.ones(4)), {}),
}
"""What is patched, a mechanism, its data, and methods besides `release` that a user calls."""


def views_of(mechanism):
    """Each view by name, as a function of a generator."""
    if "view" not in {field.name for field in fields(mechanism)}:
        return {"release": lambda m, data, rng: m.release(data, RUNS, rng).values}
    names = VIEWS[type(mechanism)]
    return {
        name: lambda m, data, rng, view=name: replace(m, view=view).release(data, RUNS, rng).values for name in names
    }


VIEWS = {
    SelectMeasureGenerate: ("measurements", "marginals", "table"),
    NoisyHistogramTable: ("counts", "table"),
    PATE: ("labels", "final"),
    GaussianTopDown: ("measurements", "tables"),
    GeometricTopDown: ("measurements", "tables"),
    MWEM: ("transcript", "distribution", "answers"),
    GaussianMWEM: ("transcript", "distribution", "answers"),
    PrivateMultiplicativeWeights: ("transcript", "answers"),
    DualQuery: ("transcript", "table"),
    LaplaceMatrixMechanism: ("measurements", "answers"),
    GaussianMatrixMechanism: ("measurements", "answers"),
    NoisyEntropies: ("entropies", "structure"),
    DPSGD: ("final", "trajectory", "noisy_gradients"),
    AdaptiveClippingDPSGD: ("final", "trajectory", "noisy_gradients"),
    FederatedAveraging: ("trajectory", "final"),
    LocalNoiseAveraging: ("messages", "final"),
    NoisyProjectedSGD: ("last", "all"),
}


def spread(values, view):
    """Sum of the variances of all numbers of an output; of a synthetic table those of its counts."""
    values = np.asarray(values, dtype=np.float64)
    if view == "table":
        rows = values.reshape(len(values), -1, values.shape[-1]).astype(int)
        codes = rows @ 10 ** np.arange(rows.shape[2])
        values = np.stack([(codes == code).sum(axis=1) for code in np.unique(codes)], axis=1)
    return float(values.reshape(len(values), -1).var(axis=0).sum())


@pytest.mark.parametrize("case", CASES)
def test_less_noise_than_claimed_is_detected_in_every_view_and_method(case, monkeypatch):
    (kind, name), mechanism, data, others = CASES[case]
    ways = {
        **{view: lambda rng, way=way: way(mechanism, data, rng) for view, way in views_of(mechanism).items()},
        **{other: lambda rng, way=way: way(mechanism, rng) for other, way in others.items()},
    }
    plain = {way: spread(draw(np.random.default_rng(0)), way) for way, draw in ways.items()}
    make_quiet(monkeypatch, kind, name)
    for way, draw in ways.items():
        assert plain[way] > 0.0
        assert spread(draw(np.random.default_rng(0)), way) < LESS * plain[way], way


def test_every_mechanism_with_views_has_a_case():
    own = {name: get(name) for name in catalogue if not name.startswith("broken-")}
    with_views = {name for name, kind in own.items() if "view" in inspect.signature(kind).parameters}
    assert with_views <= set(CASES)


@pytest.mark.parametrize("kind", VIEWS, ids=lambda kind: kind.__name__)
def test_all_views_are_looked_at(kind):
    mechanism = next(mechanism for _, mechanism, _, _ in CASES.values() if type(mechanism) is kind)
    with pytest.raises(ParameterError) as caught:
        replace(mechanism, view="no such view")
    assert caught.value.allowed == f"be one of {', '.join(sorted(VIEWS[kind]))}"


# --- one run is a batch of size 1, and a view a function of what was drawn ------------------------------------------


def seeded():
    return np.random.default_rng(5)


def view_of(mechanism, view, data, size=1):
    return replace(mechanism, view=view).release(data, size, seeded()).values


@pytest.mark.parametrize(
    "selection",
    [FixedMarginals((("a", "b"), ("b",)), standard_deviation=15.0), MST(rho=0.01), AIM(rho=0.01, rounds=4)],
    ids=lambda selection: type(selection).__name__,
)
def test_table_is_made_of_the_marginals_that_are_made_of_the_measurements(selection):
    mechanism, rng = synthetic(selection), seeded()
    parts = selection.measure(CodedTable.of(DOMAIN, PEOPLE), mechanism.generator, 1, rng)
    fitted = mechanism.generator.fit(DOMAIN, parts, rng)
    np.testing.assert_array_equal(view_of(mechanism, "measurements", PEOPLE), selection.transcript(DOMAIN, parts, 1))
    np.testing.assert_array_equal(view_of(mechanism, "marginals", PEOPLE), _marginals_of(fitted, mechanism.answered))
    np.testing.assert_array_equal(view_of(mechanism, "table", PEOPLE), fitted.table(200, rng))


@pytest.mark.parametrize("name", ["pate", "pate, Gaussian", "pate, checks"])
def test_student_is_made_of_the_labels(name):
    mechanism = CASES[name][1]
    labels = view_of(mechanism, "labels", VOTERS)
    np.testing.assert_array_equal(labels, mechanism.aggregator.release(mechanism.votes(VOTERS), 1, seeded()).values)
    np.testing.assert_array_equal(view_of(mechanism, "final", VOTERS), mechanism.learn(labels))


@pytest.mark.parametrize("name", ["gaussian-top-down", "geometric-top-down"])
def test_tables_of_a_geography_are_made_of_the_measurements(name):
    mechanism = CASES[name][1]
    measurements = view_of(mechanism, "measurements", CENSUS)
    np.testing.assert_array_equal(view_of(mechanism, "tables", CENSUS), mechanism.county_tables(measurements))


@pytest.mark.parametrize("name", ["mwem", "gaussian-mwem"])
def test_distribution_is_made_of_the_transcript(name):
    mechanism = CASES[name][1]
    log_weights, total = mechanism.updates.uniform(1), 0.0
    for chosen, answer in view_of(mechanism, "transcript", AGES)[0]:
        total = total + np.exp(log_weights)
        mechanism.updates.apply(log_weights, np.array([int(chosen)]), np.array([answer]))
    distribution = view_of(mechanism, "distribution", AGES)
    np.testing.assert_allclose(distribution, total / mechanism.rounds, rtol=1e-12)
    answers = mechanism.n_records * mechanism.workload.of(distribution)
    np.testing.assert_array_equal(view_of(mechanism, "answers", AGES), answers)


@pytest.mark.parametrize("name", ["laplace-matrix", "gaussian-matrix"])
def test_answers_are_made_of_the_measurements(name):
    mechanism = CASES[name][1]
    answers = view_of(mechanism, "measurements", AGES) @ mechanism.reconstruction.T
    np.testing.assert_array_equal(view_of(mechanism, "answers", AGES), answers)


def test_models_of_dp_sgd_are_one_run_whoever_asks():
    mechanism = CASES["dp-sgd"][1]
    final = view_of(mechanism, "final", EXAMPLES)
    trajectory = view_of(mechanism, "trajectory", EXAMPLES)
    sums = view_of(mechanism, "noisy_gradients", EXAMPLES)
    everyone = np.ones((1, len(EXAMPLES)), dtype=bool)
    np.testing.assert_array_equal(trajectory[:, -1], final)
    np.testing.assert_array_equal(mechanism.fit(EXAMPLES, 1, seeded()).parameters, final)
    np.testing.assert_allclose(mechanism.fit_subsets(EXAMPLES, everyone, seeded()).parameters, final, rtol=1e-9)
    np.testing.assert_allclose(
        replace(mechanism, view="trajectory").release_subsets(EXAMPLES, everyone, seeded()).values,
        trajectory,
        rtol=1e-9,
    )
    moved = np.diff(trajectory, axis=1) @ mechanism.seen_directions.T / mechanism.clip_norm
    rates = mechanism.recipe.rates[:, None] / mechanism.scheme.divisor
    np.testing.assert_allclose(-moved / rates, sums, rtol=1e-9)


def test_models_of_federated_averaging_are_one_run_in_every_view():
    mechanism = CASES["federated-averaging"][1]
    trajectory = view_of(mechanism, "trajectory", CLIENTS)
    np.testing.assert_array_equal(view_of(mechanism, "final", CLIENTS), trajectory[:, -1])
    local = CASES["federated-local-noise"][1]
    messages = view_of(local, "messages", CLIENTS)
    made = local.start + local.server_rate * messages.mean(axis=2).sum(axis=1)
    np.testing.assert_allclose(view_of(local, "final", CLIENTS), made, rtol=1e-12)


def test_other_views_are_functions_of_the_first():
    online = CASES["online-multiplicative-weights"][1]
    transcript, answers = view_of(online, "transcript", AGES, 40), view_of(online, "answers", AGES, 40)
    updated = transcript != 0.0
    assert updated.any()
    np.testing.assert_array_equal(answers[updated], transcript[updated])
    dual, data = CASES["dual-query"][1:3]
    cells = view_of(dual, "transcript", data, 40)[:, :, -1]
    np.testing.assert_array_equal(view_of(dual, "table", data, 40), dual.marginals.domain.records_in(cells))
    entropies = CASES["noisy-entropies"][1]
    learned = entropies.learn(view_of(entropies, "entropies", PEOPLE, 40))[0]
    np.testing.assert_array_equal(view_of(entropies, "structure", PEOPLE, 40), learned)
    steps = CASES["noisy-projected-sgd"][1]
    np.testing.assert_array_equal(view_of(steps, "last", EXAMPLES, 40), view_of(steps, "all", EXAMPLES, 40)[:, -1])
    counts = view_of(CASES["noisy-histogram-table"][1], "counts", PEOPLE)[0]
    drawn = view_of(CASES["noisy-histogram-table"][1], "table", PEOPLE)[0]
    assert counts[DOMAIN.cells(drawn, DOMAIN.names)].min() > 0
