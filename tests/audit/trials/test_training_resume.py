"""Shadow models and the models of the game: serial, parallel, interrupted and resumed, always the same bytes."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from dpassay.attacks.membership import draw_inclusion
from dpassay.audit.games import gradient_canary_game, membership_game, train_shadows
from dpassay.audit.games.training import plan_training
from dpassay.audit.trials.seeds import Stage, stream
from dpassay.mechanisms.adapters.estimator import EstimatorLearner
from dpassay.mechanisms.core import FingerprintError, ParameterError
from dpassay.mechanisms.learning.dp_sgd import DPSGD
from dpassay.mechanisms.learning.models import LogisticRegression, MultiLayerPerceptron, SoftmaxRegression

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 5)), RNG.integers(0, 3, 60)
OUTSIDE = RNG.normal(size=(30, 5)), RNG.integers(0, 3, 30)
SOFTMAX = DPSGD(
    SoftmaxRegression(5, 3),
    steps=5,
    noise_multiplier=1.0,
    sampling="poisson",
    sampling_probability=0.2,
    batch_size=6,
    learning_rate=1.0,
)
LOGISTIC = DPSGD(LogisticRegression(40), steps=3, noise_multiplier=1.0, sampling="full-batch", batch_size=40)
TREES = EstimatorLearner(DecisionTreeClassifier(max_features=1, max_depth=3))


def shadows(learner=SOFTMAX, **options):
    made = train_shadows(learner, (X, Y), 8, seed=1, population=OUTSIDE, **options)
    parts = (made, made.population)
    return b"".join(part.inclusion.tobytes() + part.log_probabilities.tobytes() for part in parts)


def game(learner=SOFTMAX, **options):
    scores = membership_game(
        learner, (X, Y), records=OUTSIDE, n_runs=2, attack="lira", n_references=5, seed=2, **options
    )
    return scores.bits.tobytes() + scores.scores.tobytes()


def gradient_canaries(**options):
    scores = gradient_canary_game(LOGISTIC, np.eye(41)[:40], n_runs=6, seed=3, **options)
    return scores.bits.tobytes() + scores.scores.tobytes()


@pytest.fixture
def trained(monkeypatch):
    """Record the number of models that each call trained."""
    sizes = []
    final, release = DPSGD.fit_subsets, DPSGD.release_subsets
    monkeypatch.setattr(DPSGD, "fit_subsets", lambda *given: sizes.append(len(given[2])) or final(*given))
    monkeypatch.setattr(DPSGD, "release_subsets", lambda *given: sizes.append(len(given[2])) or release(*given))
    return sizes


class Recorder:
    """A reporter that raises after a number of runs, as Ctrl-C would."""

    def __init__(self, last=10**9):
        self.last, self.total, self.done, self.notes, self.closed = last, {}, 0, [], False

    def start(self, stage, total):
        self.total[stage] = total

    def advance(self, runs, note=""):
        self.done += runs
        if self.done > self.last:
            raise KeyboardInterrupt

    def message(self, text):
        self.notes.append(text)

    def close(self):
        self.closed = True


MAKERS = [(shadows, 8), (game, 7), (gradient_canaries, 6)]


@pytest.mark.parametrize(("make", "n_models"), MAKERS)
def test_interrupted_training_continues_with_what_was_finished(tmp_path, trained, make, n_models):
    expected = make()
    trained.clear()
    with pytest.raises(KeyboardInterrupt):
        make(store=tmp_path, progress=Recorder(last=2))
    begun = sum(trained)
    assert 2 < begun <= 4
    trained.clear()
    assert make(store=tmp_path) == expected
    assert sum(trained) == n_models - begun
    trained.clear()
    assert make(store=tmp_path) == expected
    assert trained == []


@pytest.mark.parametrize(("make", "n_models"), MAKERS)
def test_progress_counts_models_and_is_closed(tmp_path, make, n_models):
    for _ in range(2):  # trained, then read from the store
        reporter = Recorder()
        make(store=tmp_path, progress=reporter)
        assert reporter.total == {"training": n_models}
        assert reporter.done == n_models
        assert reporter.closed


@pytest.mark.parametrize("make", [make for make, _ in MAKERS])
def test_the_number_of_workers_does_not_change_the_bytes(make):
    assert make(n_jobs=2) == make()


def test_workers_in_processes_do_not_change_the_bytes():
    assert shadows(TREES, n_jobs=2) == shadows(TREES)


def test_threads_of_the_linear_algebra_do_not_change_the_bytes():
    """The rounding of a large product depends on how many threads share it."""
    records = RNG.normal(size=(600, 300)), RNG.integers(0, 10, 600)
    network = MultiLayerPerceptron(n_features=300, hidden=(128,), n_outputs=10)
    learner = DPSGD(network, steps=3, noise_multiplier=1.0, sampling="full-batch", batch_size=300, learning_rate=0.5)
    log_probabilities = []
    for threads in (1, 2):
        with threadpool_limits(limits=threads):
            log_probabilities.append(train_shadows(learner, records, 2, seed=0).log_probabilities)
    np.testing.assert_array_equal(*log_probabilities)


@pytest.mark.parametrize(("make", "n_models"), MAKERS)
def test_a_damaged_chunk_is_trained_again_and_reported(tmp_path, trained, make, n_models):
    expected = make(store=tmp_path)
    victim = sorted((tmp_path / "chunks").iterdir())[1]
    content = bytearray(victim.read_bytes())
    content[len(content) // 2] ^= 255
    victim.write_bytes(content)
    trained.clear()
    reporter = Recorder()
    assert make(store=tmp_path, progress=reporter) == expected
    assert 1 <= sum(trained) < n_models
    (message,) = reporter.notes
    assert f"chunk {victim.stem}" in message
    assert "running it again" in message


def test_a_store_of_other_models_is_refused(tmp_path):
    shadows(store=tmp_path)
    with pytest.raises(FingerprintError, match="seed: the store has 1, this run has 7"):
        train_shadows(SOFTMAX, (X, Y), 8, seed=7, population=OUTSIDE, store=tmp_path)
    with pytest.raises(FingerprintError, match="design"):
        train_shadows(SOFTMAX, (X, Y), 8, seed=1, population=OUTSIDE, store=tmp_path, design="bernoulli")
    with pytest.raises(FingerprintError, match="game"):
        game(store=tmp_path)


@pytest.mark.parametrize("make", [make for make, _ in MAKERS])
@pytest.mark.parametrize("options", [{"n_jobs": 0}, {"n_jobs": 1.5}, {"store": 3}])
def test_wrong_options_are_named(make, options):
    with pytest.raises(ParameterError, match=f"^{next(iter(options))} must be"):
        make(**options)


@pytest.mark.parametrize("n_models", [2, 4, 16, 62, 64, 66, 100, 1000])
@pytest.mark.parametrize("bytes_per_model", [1, 2**20, 10**9])
def test_chunks_cover_all_models_and_never_cut_a_pair(n_models, bytes_per_model):
    chunks = plan_training(n_models, bytes_per_model, together=2)
    assert [chunk.start for chunk in chunks] == np.cumsum([0, *(chunk.size for chunk in chunks)])[:-1].tolist()
    assert sum(chunk.size for chunk in chunks) == n_models
    assert all(chunk.size % 2 == 0 for chunk in chunks)
    assert max(chunk.size for chunk in chunks) * bytes_per_model <= max(2**24, 2 * bytes_per_model)
    assert bytes_per_model > 1 or len(chunks) <= 32


def test_coins_are_tossed_on_a_stream_of_their_own():
    made = train_shadows(SOFTMAX, (X, Y), 8, seed=1)
    np.testing.assert_array_equal(made.inclusion, draw_inclusion(8, 60, stream(1, Stage.COINS)))
    first = membership_game(SOFTMAX, (X, Y), n_runs=2, seed=2)
    np.testing.assert_array_equal(first.bits, membership_game(TREES, (X, Y), n_runs=2, seed=2).bits)


def test_each_chunk_draws_noise_of_its_own():
    everyone = DPSGD(LogisticRegression(40), steps=1, noise_multiplier=1.0, sampling="full-batch", batch_size=1)
    scores = gradient_canary_game(everyone, np.eye(41)[:40], n_runs=6, seed=3)
    noise = scores.scores - scores.bits
    assert len(np.unique(noise.round(9))) == noise.size
