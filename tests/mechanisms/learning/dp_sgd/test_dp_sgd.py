"""DPSGD as a mechanism: its claim, the exact law of its canary, its checks and its messages."""

import math
import pickle

import numpy as np
import pytest
from scipy import stats

from dpassay.audit import audit
from dpassay.experiments.config.sections import Named
from dpassay.experiments.config.tasks.build import build_mechanism
from dpassay.mechanisms.accounting import GaussianDP, PrivacyLossDP
from dpassay.mechanisms.accounting.dp_sgd.fixed_size import fixed_size_gaussian, fixed_size_losses
from dpassay.mechanisms.core.base import Neighbours, Outputs
from dpassay.mechanisms.core.errors import AccountingError, NeighboursError, ParameterError, RelationError
from dpassay.mechanisms.core.records import remove_record, replace_record, zero_record
from dpassay.mechanisms.core.relation import Relation
from dpassay.mechanisms.learning.base import TrainingData
from dpassay.mechanisms.learning.dp_sgd import DPSGD
from dpassay.mechanisms.learning.dp_sgd.sampling import (
    CyclicBatches,
    FixedSizeSampling,
    FullBatch,
    PoissonSampling,
    ShuffledEpochs,
)
from dpassay.mechanisms.learning.models import LogisticRegression, MultiLayerPerceptron, SoftmaxRegression

pytestmark = pytest.mark.usefixtures("without_power")

FALSE_ALARM = 1e-6
SOFTMAX = SoftmaxRegression(3, 3)
POISSON = PoissonSampling(sampling_probability=0.1, expected_batch_size=4)
FULL = FullBatch(expected_batch_size=1)
FIXED = FixedSizeSampling(batch_size=3, n_records=9)
SHUFFLED = ShuffledEpochs(batch_size=3, n_records=9)
CYCLIC = CyclicBatches(batch_size=3, n_records=9)


def mechanism_for(model=SOFTMAX, **options):
    return DPSGD(model, **({"steps": 6, "noise_multiplier": 1.5, "sampling": POISSON} | options))


def natural(n=40, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)), rng.integers(0, 3, n)


# --- the claim ----------------------------------------------------------------------------------------------------


def test_claims_are_those_of_the_sampling():
    poisson = mechanism_for().guarantee()
    expected = PrivacyLossDP.gaussian(1.5, sampling_probability=0.1, steps=6)
    assert isinstance(poisson, PrivacyLossDP)
    assert poisson.epsilon(1e-5) == expected.epsilon(1e-5)
    full = mechanism_for(sampling=FULL).guarantee()
    assert isinstance(full, GaussianDP)
    assert full.mu == pytest.approx(math.sqrt(6) / 1.5)
    assert mechanism_for(sampling=FULL, relation="replace_one").guarantee().mu == pytest.approx(2 * math.sqrt(6) / 1.5)
    assert mechanism_for(sampling=FULL, relation="zero_out").guarantee().mu == pytest.approx(math.sqrt(6) / 1.5)
    certain = mechanism_for(sampling=PoissonSampling(sampling_probability=1.0, expected_batch_size=1)).guarantee()
    assert certain == full
    for sampling in (SHUFFLED, CYCLIC):
        for steps, epochs in ((1, 1), (3, 1), (4, 2), (6, 2)):
            claim = mechanism_for(sampling=sampling, steps=steps).guarantee()
            assert claim.mu == pytest.approx(math.sqrt(epochs) / 1.5)
            assert claim.relation is Relation.ZERO_OUT
        claim = mechanism_for(sampling=sampling, relation="replace_one").guarantee()
        assert claim.mu == pytest.approx(2 * math.sqrt(2) / 1.5)
    for relation, noise, bound in (("zero_out", 1.5, fixed_size_gaussian), ("replace_one", 0.75, fixed_size_losses)):
        claim = mechanism_for(sampling=FIXED, relation=relation).guarantee()
        expected = bound(noise, sampling_probability=3 / 9, steps=6, relation=relation)
        assert claim.epsilon(1e-5) == expected.epsilon(1e-5)


def test_claims_are_exact_only_if_the_view_shows_all_sums():
    assert mechanism_for(sampling=FULL, view="trajectory").guarantee().exact
    assert mechanism_for(sampling=FULL, view="noisy_gradients").exact_guarantee() is not None
    assert not mechanism_for(sampling=FULL, view="final").guarantee().exact
    assert not mechanism_for(sampling=FULL, view="trajectory", projection=1.0).guarantee().exact
    assert not mechanism_for(sampling=SHUFFLED, view="trajectory").guarantee().exact


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise_multiplier": 0.0}, "noise_multiplier is 0: training without noise has no finite epsilon"),
        ({"clipping": "none"}, "clipping is 'none': one record can change the sum without limit"),
        ({"relation": "replace_one"}, "replace_one"),
        ({"sampling": SHUFFLED, "relation": "add_remove"}, "adding a record moves others between batches"),
        ({"sampling": CYCLIC, "relation": "add_remove"}, "adding a record moves others between batches"),
        ({"sampling": FIXED, "relation": "add_remove"}, "no bound for samples of fixed size under 'add_remove'"),
        ({"sampling": ShuffledEpochs(batch_size=3)}, "depends on the number of records"),
        ({"sampling": FixedSizeSampling(batch_size=3)}, "Give n_records, a public constant, with batch_size"),
    ],
)
def test_no_claim_is_made_where_no_theorem_gives_one(options, message):
    mechanism = mechanism_for(**options)
    with pytest.raises(AccountingError, match=message):
        mechanism.guarantee()


def test_a_claim_of_the_user_can_be_audited_without_noise():
    """Zero noise with a finite claim is a violation, found with few runs."""
    mechanism = mechanism_for(noise_multiplier=0.0, sampling=FULL, view="final", initial="random")
    data = natural()
    with pytest.raises(AccountingError, match="or a claim to audit against"):
        audit(mechanism, remove_record(data, 0), trials=100, seed=0, delta=1e-5)
    pair = Neighbours(TrainingData(*data), TrainingData(*data, 1e3 * np.ones((1, 12))), "add_remove")
    result = audit(mechanism, pair, claim=GaussianDP(0.1), trials=400, seed=0, delta=1e-5, attack="classifier")
    assert result.verdict.value == "violation"


# --- the canary ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", ["noisy_gradients", "trajectory", "final"])
@pytest.mark.parametrize("relation", ["add_remove", "zero_out", "replace_one"])
def test_full_batch_canary_follows_the_exact_gaussian_law(view, relation):
    """The sum of what is seen along the canary, over sigma sqrt(T): N(0, 1) without, N(mu, 1) with it, natural data and
    all; mu = sqrt(T) / sigma, between opposite gradients twice that."""
    mechanism = mechanism_for(sampling=FULL, view=view, relation=relation, clip_norm=0.4, learning_rate=0.3)
    X, y = natural()
    X[:, 0] = 0.0  # no example has a gradient in the first weight
    pair = mechanism.worst_case()
    scores = []
    for side in (0, 1):
        data = TrainingData(X, y, pair.side(side).gradients)
        values = mechanism.release(data, 4000, np.random.default_rng([1, side])).values
        if view == "noisy_gradients":
            observed = values[:, :, 0].sum(axis=1)
        elif view == "trajectory":
            observed = (values[:, 0, 0] - values[:, -1, 0]) / (0.3 * 0.4)
        else:
            observed = -values[:, 0] / (0.3 * 0.4)
        scores.append(observed / (1.5 * math.sqrt(6)))
    mu = math.sqrt(6) / 1.5
    low = -mu if relation == "replace_one" else 0.0
    assert stats.kstest(scores[0] - low, "norm").pvalue > FALSE_ALARM
    assert stats.kstest(scores[1] - mu, "norm").pvalue > FALSE_ALARM
    assert stats.kstest(scores[1] - 0.9 * mu, "norm").pvalue < FALSE_ALARM  # a law 0.16 away would show


def test_poisson_canary_adds_one_whenever_it_is_sampled():
    sampling = PoissonSampling(sampling_probability=0.3, expected_batch_size=1)
    mechanism = mechanism_for(sampling=sampling, noise_multiplier=0.001, view="noisy_gradients")
    pair = mechanism.worst_case()
    values = mechanism.release(pair.d1, 3000, np.random.default_rng(0)).values
    hits = np.round(values[:, :, 0])
    assert set(np.unique(hits)) == {0.0, 1.0}
    n = hits.size
    assert abs(hits.sum() - 0.3 * n) < stats.norm.isf(FALSE_ALARM / 2) * math.sqrt(n * 0.21)
    assert np.round(mechanism.release(pair.d0, 100, np.random.default_rng(0)).values).any() == 0


@pytest.mark.parametrize("sampling", [POISSON, FULL, FIXED, SHUFFLED, CYCLIC], ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("clipping", ["flat", "per-layer"])
def test_worst_case_is_a_pair_with_a_record_of_the_largest_gradient(sampling, clipping):
    model = MultiLayerPerceptron(3, 3, hidden=(4,))
    mechanism = mechanism_for(model, sampling=sampling, clipping=clipping, clip_norm=0.3, view="noisy_gradients")
    pair = mechanism.worst_case()
    mechanism.bind(pair)
    first = [
        mechanism_for(
            model, sampling=FULL, clipping=clipping, clip_norm=0.3, view="noisy_gradients", noise_multiplier=0.0
        )
        .release(pair.side(side), 1, np.random.default_rng(0))
        .values[0, 0, 0]
        for side in (0, 1)
    ]
    assert first[1] - first[0] == pytest.approx(1.0)


OBSERVED = [
    (POISSON, "add_remove"), (POISSON, "zero_out"), (FULL, "add_remove"), (FULL, "replace_one"), (FIXED, "zero_out"),
    (FIXED, "replace_one"), (SHUFFLED, "zero_out"), (SHUFFLED, "replace_one"), (CYCLIC, "zero_out"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("sampling", "relation"), OBSERVED, ids=lambda v: v if isinstance(v, str) else type(v).__name__
)
def test_density_of_observations_is_the_law_they_are_drawn_from(sampling, relation):
    """E[p0 / p1] under side 1 and E[p1 / p0] under side 0 are 1."""
    mechanism = mechanism_for(
        sampling=sampling, relation=relation, view="noisy_gradients", noise_multiplier=2.5, steps=5
    )
    assert mechanism.output_law() is not None
    pair = mechanism.worst_case()
    for side in (0, 1):
        outputs = mechanism.release(pair.side(side), 10_000, np.random.default_rng([3, side]))
        own, other = (mechanism.output_law().log_density(outputs, pair.side(s)) for s in (side, 1 - side))
        ratio = np.exp(other - own)
        assert ratio.std() > 0.05
        assert abs(ratio.mean() - 1.0) < stats.norm.isf(FALSE_ALARM / 2) * ratio.std() / 100.0


def test_density_takes_several_directions_and_records_and_is_normalised():
    """Against brute force over the subsets of two records, for directions that are not orthogonal."""
    model = LogisticRegression(2)
    observed = np.array([[1.0, 0.0, 0.0], [0.6, 0.8, 0.0]])
    mechanism = DPSGD(
        model, steps=1, noise_multiplier=0.7, sampling=POISSON, view="noisy_gradients", directions=observed
    )
    data = TrainingData(np.empty((0, 2)), np.empty(0), np.array([[1.0, 0, 0], [0, 0.5, 0]]))
    values = np.random.default_rng(0).normal(size=(5, 1, 2))
    law = [(0.81, [0, 0]), (0.09, [1, 0.6]), (0.09, [0, 0.4]), (0.01, [1, 1.0])]
    covariance = 0.49 * observed @ observed.T
    density = sum(w * stats.multivariate_normal.pdf(values[:, 0], c, covariance) for w, c in law)
    np.testing.assert_allclose(mechanism.output_law().log_density(Outputs(values), data), np.log(density), rtol=1e-10)


def test_densities_that_are_not_known_are_refused():
    mechanism = mechanism_for(view="noisy_gradients", noise_multiplier=0.0)
    outputs = Outputs(np.zeros((2, 6, 1)))
    with pytest.raises(ParameterError, match="noise-free observations have no density"):
        mechanism.output_law().log_density(outputs, mechanism.worst_case().d0)
    twice = mechanism_for(view="noisy_gradients", directions=np.eye(12)[[0, 0]])
    with pytest.raises(ParameterError, match="linearly dependent"):
        twice.output_law().log_density(Outputs(np.zeros((2, 6, 2))), twice.worst_case().d0)
    shuffled = mechanism_for(view="noisy_gradients", sampling=SHUFFLED)
    three = TrainingData(np.empty((0, 3)), np.empty(0), np.outer(np.arange(9.0), np.eye(12)[0]) / 9)
    with pytest.raises(ParameterError, match="only if all records except one contribute equally"):
        shuffled.output_law().log_density(outputs, three)
    assert mechanism_for(view="final").output_law() is None


def test_auditing_the_worst_case_comes_close_to_the_claim():
    mechanism = mechanism_for(sampling=FULL, view="noisy_gradients", noise_multiplier=2.0, steps=4)
    result = audit(mechanism, trials=20_000, seed=0, delta=1e-5, bound="accountant-family")
    assert 0.9 * result.claim < result.bound.epsilon <= result.claim


# --- neighbours ----------------------------------------------------------------------------------------------------


def test_pairs_of_examples_and_of_gradient_records_are_accepted():
    data = natural()
    mechanism_for().bind(remove_record(data, 3))
    mechanism_for(relation="zero_out").bind(zero_record(data, 3))
    mechanism_for(relation="replace_one", sampling=FULL).bind(replace_record(data, 3, (np.ones(3), 1)))
    canary = TrainingData(*data, np.ones((1, 12)))
    mechanism_for().bind(Neighbours(TrainingData(*data), canary, "add_remove"))
    mechanism_for().bind(Neighbours(data, canary, "add_remove"))
    two = TrainingData(*data, np.vstack([np.ones((1, 12)), np.zeros((1, 12))]))
    mechanism_for().bind(Neighbours(canary, two, "add_remove"))
    blank = TrainingData(*data, np.zeros((1, 12)))
    mechanism_for(relation="zero_out").bind(Neighbours(blank, canary, "zero_out"))


def test_canaries_that_break_the_relation_are_refused():
    data = natural()
    X, y = data
    mechanism = mechanism_for()
    one, two = (TrainingData(X, y, np.eye(12)[:k]) for k in (1, 2))
    with pytest.raises(NeighboursError, match="the other plus one record"):
        mechanism.bind(Neighbours(data, two, "add_remove"))
    with pytest.raises(NeighboursError, match="d0 and d1 are the same"):
        mechanism.bind(Neighbours(data, TrainingData(X, y), "add_remove"))
    with pytest.raises(NeighboursError, match="in their examples and in their gradient records"):
        mechanism.bind(Neighbours((X[1:], y[1:]), one, "add_remove"))
    with pytest.raises(NeighboursError, match="the other plus one record"):
        mechanism.bind(Neighbours((X[2:], y[2:]), data, "add_remove"))
    with pytest.raises(NeighboursError, match="not all zeros"):
        mechanism_for(relation="zero_out").bind(Neighbours(two, TrainingData(X, y, np.eye(12)[[0, 2]]), "zero_out"))
    with pytest.raises(RelationError, match="holds for relation 'add_remove'"):
        mechanism.bind(zero_record(data, 0))


def test_cyclic_batches_need_the_records_in_place():
    """The same records in another order are other batches."""
    X, y = natural(9)
    other = np.append(X[1:], np.ones((1, 3)), axis=0), np.append(y[1:], 1)
    pair = Neighbours((X, y), other, "replace_one")
    mechanism_for(relation="replace_one", sampling=SHUFFLED).bind(pair)
    with pytest.raises(NeighboursError, match="in place"):
        mechanism_for(relation="replace_one", sampling=CYCLIC).bind(pair)
    mechanism_for(relation="replace_one", sampling=CYCLIC).bind(replace_record((X, y), 2, (np.ones(3), 1)))


def test_data_that_do_not_fit_are_refused_before_training():
    X, y = natural()
    with pytest.raises(ParameterError, match="whole numbers from 0 to 2, but holds 3"):
        mechanism_for().release((X, y + 1), 1, np.random.default_rng(0))
    with pytest.raises(ParameterError, match="X must hold finite numbers"):
        mechanism_for().release((np.where(X > 2, np.nan, X), y), 1, np.random.default_rng(0))
    with pytest.raises(ParameterError, match="X has 2 features"):
        mechanism_for().bind(remove_record((X[:, :2], y), 0))
    with pytest.raises(ParameterError, match="batch_size is 50, but it is drawn from 40 records only"):
        mechanism_for(sampling=ShuffledEpochs(batch_size=50)).release((X, y), 1, np.random.default_rng(0))
    with pytest.raises(ParameterError, match=r"an \(X, y\) pair or TrainingData, not ndarray"):
        mechanism_for().release(X, 1, np.random.default_rng(0))


# --- options ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"momentum": 1.0}, "momentum must be below 1"),
        ({"averaging": "mean", "view": "trajectory"}, "shows no average"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"initial": "zero"}, "Did you mean 'zeros'"),
        ({"initial": np.zeros(11)}, r"initial must hold .* each of the 12 parameters, but has shape \(11,\)"),
        ({"initial": np.full(12, np.nan)}, "infinite values or NaN"),
        ({"directions": np.ones(12)}, "unit vectors, but their norms are"),
        ({"directions": np.ones((2, 5))}, r"has shape \(2, 5\)"),
        ({"directions": [["a"]]}, "directions must hold numbers, but is"),
        ({"sampling": "full-batch", "batch_size": -1}, "^batch_size must be"),
        ({"relation": "swap"}, "relation"),
        ({"sampling": "poisson"}, "needs batch_size and sampling_probability, which are missing"),
        ({"sampling": "poisson", "batch_size": 3}, "sampling_probability is missing: public constants"),
        ({"sampling": "cyclic"}, "needs batch_size, which is missing"),
        (
            {"sampling": "cyclic", "batch_size": 2, "sampling_probability": 0.1},
            "sampling_probability is not for sampling .cyclic.",
        ),
        ({"sampling": "full-batch"}, "need a public number to divide updates by"),
        ({"sampling": FULL, "batch_size": 3}, "sampling is FullBatch.*, not a name: .* leave out batch_size"),
        ({"sampling": "poison"}, "Did you mean 'poisson'"),
        ({"n_classes": 3}, "model is .*, not a name: .* leave out n_classes"),
        ({"model": "softmax-regression", "n_classes": 3}, "needs n_features"),
        ({"model": "softmax-regression", "n_features": 3}, "n_classes"),
        ({"model": "logistic-regression", "n_features": 3, "hidden": (3,)}, "hidden"),
        ({"model": 3}, "model must be a Model or its name"),
        ({"model": "softmax"}, "softmax-regression"),
    ],
)
def test_bad_options_are_refused_with_advice(options, message):
    with pytest.raises((ParameterError, LookupError), match=message):
        mechanism_for(**options)


@pytest.mark.parametrize("dtype", [str, object, bytes])
def test_labels_that_are_no_numbers_are_refused_with_how_to_code_them(dtype):
    y = np.array([b"cat", b"dog"] if dtype is bytes else ["cat", "dog"], dtype=dtype)
    message = r"whole numbers from 0 to n_classes - 1, .* but holds b?'cat' .* np\.unique\(y, return_inverse=True\)"
    with pytest.raises(ParameterError, match=message):
        TrainingData.of((np.zeros((2, 1)), y))
    TrainingData.of((np.zeros((2, 1)), np.unique(y, return_inverse=True)[1]))


def test_names_and_plain_numbers_build_the_same_mechanism():
    rng = np.random.default_rng(0)
    named = DPSGD(
        "softmax-regression", n_features=3, n_classes=3, steps=6, noise_multiplier=1.5, sampling="poisson",
        sampling_probability=0.1, batch_size=4,
    )  # fmt: skip
    assert named.network == SOFTMAX
    assert named.scheme == POISSON
    first = mechanism_for().release(natural(), 5, np.random.default_rng(1)).values
    np.testing.assert_array_equal(first, named.release(natural(), 5, np.random.default_rng(1)).values)
    perceptron = DPSGD(
        "multilayer-perceptron", n_features=3, n_classes=3, hidden=(4,), activation="relu", steps=2,
        noise_multiplier=1.0, sampling="full-batch", batch_size=1,
    )  # fmt: skip
    assert perceptron.network == MultiLayerPerceptron(3, 3, hidden=(4,), activation="relu")
    assert np.ptp(perceptron.release(natural(), 3, rng).values) > 0.1
    for name, scheme in (("fixed-size", FIXED), ("shuffled", SHUFFLED), ("cyclic", CYCLIC)):
        assert mechanism_for(sampling=name, batch_size=3, n_records=9).scheme == scheme


def test_equal_options_are_equal_mechanisms_and_pickle():
    options = {"initial": np.linspace(0, 1, 12), "directions": np.eye(12)[:2], "view": "noisy_gradients"}
    first, second = mechanism_for(**options), mechanism_for(**options)
    assert first == second
    assert hash(first) == hash(second)
    first.guarantee()
    again = pickle.loads(pickle.dumps(first))
    assert again == first
    assert again != mechanism_for(**(options | {"initial": np.zeros(12)}))
    assert first != mechanism_for()
    assert again.output_law().log_density(Outputs(np.zeros((1, 6, 2))), natural()).shape == (1,)
    with pytest.raises(ValueError, match="read-only"):
        first.initial[0] = 3.0


@pytest.mark.parametrize(("view", "shape"), [("final", (12,)), ("trajectory", (7, 12)), ("noisy_gradients", (6, 1))])
def test_outputs_have_the_shape_of_their_view_and_differ_between_runs(view, shape):
    for size in (0, 1, 300):
        values = mechanism_for(view=view).release(natural(), size, np.random.default_rng(0)).values
        assert values.shape == (size, *shape)
        assert np.isfinite(values).all()
        assert len(np.unique(values, axis=0)) == size


def test_a_configuration_builds_it_from_names_and_tables():
    plain = {"name": "dp-sgd", "steps": 6, "noise_multiplier": 1.5}
    named = {"model": "softmax-regression", "n_features": 3, "n_classes": 3}
    drawn = {"sampling": "poisson", "sampling_probability": 0.1, "batch_size": 4}
    first = build_mechanism(Named(**plain, **named, **drawn))
    tables = {
        "model": {"name": "softmax-regression", "n_features": 3, "n_classes": 3},
        "sampling": {"name": "poisson", "sampling_probability": 0.1, "expected_batch_size": 4},
        "learning_rate": {"name": "constant", "initial": 0.1},
    }
    second = build_mechanism(Named(**plain, **tables))
    assert (first.network, first.scheme, first.schedule) == (second.network, second.scheme, second.schedule)
    perceptron = {"name": "multilayer-perceptron", "n_features": 3, "n_outputs": 3, "hidden": [4, 5]}
    assert build_mechanism(Named(**plain, **drawn, model=perceptron)).network.hidden == (4, 5)
    with pytest.raises(ParameterError, match="Did you mean 'n_features'"):
        build_mechanism(Named(**plain, **drawn, model={"name": "softmax-regression", "n_feature": 3}))


@pytest.mark.parametrize(
    ("model", "value", "dtype"),
    [
        (LogisticRegression(1), 1e200, "float64"),
        (LogisticRegression(1), 1e30, "float32"),
        (LogisticRegression(1), 1e300, "float32"),
        (MultiLayerPerceptron(1, hidden=(3, 3), n_outputs=2, activation="relu"), 1e19, "float32"),
    ],
)
def test_a_record_too_large_to_measure_leaves_every_run_finite(model, value, dtype):
    X, y = np.array([[1.0], [-1.0], [value]]), np.array([1, 0, 1])
    for sampling in ({"sampling": "full-batch", "batch_size": 1}, {"sampling_probability": 0.5, "batch_size": 2}):
        learner = DPSGD(model, steps=4, noise_multiplier=2.0, learning_rate=0.5, dtype=dtype, **sampling)
        values = learner.release((X, y), 200, np.random.default_rng(0)).values
        assert np.isfinite(values).all()


@pytest.mark.parametrize("sampling", ["fixed-size", "shuffled"])
@pytest.mark.parametrize("relation", ["zero_out", "replace_one"])
def test_the_law_of_two_records_distinguishes_the_sides(sampling, relation):
    learner = DPSGD(
        LogisticRegression(4), steps=2, noise_multiplier=0.5, sampling=sampling, batch_size=1, n_records=2,
        view="noisy_gradients", relation=relation,
    )  # fmt: skip
    pair = learner.worst_case()
    outputs = learner.release(pair.d1, 2000, np.random.default_rng(0))
    ratio = learner.output_law().log_density(outputs, pair.d1) - learner.output_law().log_density(outputs, pair.d0)
    assert ratio.mean() > 0.5  # an average log likelihood ratio is a divergence
    other = learner.release(pair.d0, 20_000, np.random.default_rng(1))
    ratio = learner.output_law().log_density(other, pair.d1) - learner.output_law().log_density(other, pair.d0)
    assert np.exp(ratio).mean() == pytest.approx(1.0, abs=0.5)  # densities, both of them
