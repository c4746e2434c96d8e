"""Tensors and modules of PyTorch, of every type, on the processor and on a GPU where there is one."""

import numpy as np
import pytest
from tests.mechanisms.opacus_training import training

from dpassay.attacks.membership.outputs import shadows_of
from dpassay.audit import audit, audit_scores
from dpassay.audit.evidence.scores import BitScores, PairScores
from dpassay.mechanisms import Neighbours, PureDP
from dpassay.mechanisms.accounting import GaussianDP
from dpassay.mechanisms.adapters import TorchLearner
from dpassay.mechanisms.core import own_random_states, random_states
from dpassay.mechanisms.learning.base import TrainingData
from dpassay.mechanisms.learning.dp_sgd import DPSGD
from dpassay.mechanisms.learning.models import SoftmaxRegression

torch = pytest.importorskip("torch", reason="needs dpassay[torch]")
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
PAIR = Neighbours([1.0], [1.0, 1.0], "add_remove")
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(12, 3)), RNG.integers(0, 2, size=12)
devices = pytest.mark.parametrize("device", DEVICES)


@devices
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_a_result_may_be_a_tensor_of_any_type_that_needs_gradients(device, dtype):
    def release(dataset, rng):
        noise = torch.tensor(rng.normal(size=2), device=device, dtype=getattr(torch, dtype), requires_grad=True)
        return noise + len(dataset)

    true = audit(release, neighbours=PAIR, claim=GaussianDP(2.0), delta=1e-5, trials=400, seed=1)
    assert true.verdict.value != "violation"
    assert audit(release, neighbours=PAIR, claim=PureDP(0.01), trials=2_000, seed=1).verdict.value == "violation"


@devices
def test_tensors_inside_of_tuples_and_dicts_are_read(device):
    def release(dataset, rng):
        first, second = (torch.tensor(rng.laplace() + len(dataset), device=device) for _ in range(2))
        return {"first": first, "both": (first, second)}

    assert audit(release, neighbours=PAIR, claim=PureDP(2.0), trials=400, seed=1).verdict.value != "violation"


@devices
def test_noise_of_the_global_generator_repeats_and_the_generator_is_left_as_it_was(device):
    def release(dataset):
        return len(dataset) + torch.randn((), device=device).item()

    release(PAIR.d0)  # a GPU has a state once it is in use
    before = random_states()
    first, second = (
        audit(release, neighbours=PAIR, claim=GaussianDP(1.0), delta=1e-5, trials=400, seed=3) for _ in range(2)
    )
    assert first.bound.epsilon == second.bound.epsilon
    assert first.verdict.value != "violation"
    assert all(torch.equal(state, random_states()[name]) for name, state in before.items())


@devices
def test_random_states_are_restored_on_every_device(device):
    torch.randn((), device=device)
    before = random_states()
    with own_random_states(7):
        first = torch.randn(3, device=device)
    with own_random_states(7):
        assert torch.equal(first, torch.randn(3, device=device))
    assert before.keys() == random_states().keys()
    assert all(torch.equal(state, random_states()[name]) for name, state in before.items())


@devices
def test_scores_and_outputs_of_models_may_be_tensors(device):
    out, in_ = torch.randn(500, device=device), torch.randn(500, device=device).bfloat16() + 8.0
    assert audit_scores(PairScores(out, in_), claim=PureDP(0.1)).verdict.value == "violation"
    bits = torch.arange(1_000, device=device) % 2 == 0
    assert BitScores(bits, torch.ones(1_000, device=device)).scores.shape == (1, 1_000)
    member, labels = torch.rand(6, 40, device=device) < 0.5, torch.zeros(40, dtype=torch.int64, device=device)
    logits = torch.randn(6, 40, 3, device=device, requires_grad=True)
    assert shadows_of(member, labels=labels, logits=logits).signal("loss").shape == (6, 40)


@devices
@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "float64"])
def test_modules_are_asked_on_their_own_device_in_their_own_type(device, dtype):
    kind = getattr(torch, dtype)

    def train(X, y, rng):
        module = torch.nn.Linear(X.shape[1], 2).to(device, kind)
        inputs, labels = X.to(device, kind), y.to(device)
        optimiser = torch.optim.SGD(module.parameters(), lr=0.5)
        for _ in range(5):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(module(inputs), labels).backward()
            optimiser.step()
        return module

    data, inclusion = TrainingData(X, Y), np.ones((2, 12), dtype=np.bool_)
    first, second = (
        TorchLearner(train).fit_subsets(data, inclusion, np.random.default_rng(4)).log_probabilities(X)
        for _ in range(2)
    )
    assert first.dtype == np.float64
    np.testing.assert_allclose(first, second, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(np.exp(first).sum(axis=2), 1.0, rtol=1e-9)


@pytest.mark.filterwarnings("ignore")  # Opacus and PyTorch warn of each other
@devices
@pytest.mark.parametrize("poisson", [False, True])
def test_training_with_opacus_may_be_on_a_gpu(device, poisson):
    pytest.importorskip("opacus", reason="needs dpassay[torch]")
    options = {"batch_size": 2, "epochs": 3} if poisson else {"batch_size": 12, "epochs": 5}
    mechanism = training(
        make_model=lambda: torch.nn.Linear(3, 2).to(device),
        make_optimizer=lambda parameters: torch.optim.SGD(parameters, lr=0.5),
        noise_multiplier=0.0,
        max_grad_norm=0.5,
        initial=np.zeros(8),
        constants="public",
        **options,
    )
    trained = mechanism.release((X, Y), 3, np.random.default_rng(5)).values
    if poisson:  # batches differ, some are empty
        assert len(np.unique(trained, axis=0)) == 3
    else:
        ours = DPSGD(
            SoftmaxRegression(3, 2), steps=5, noise_multiplier=0.0, clip_norm=0.5, sampling="full-batch",
            batch_size=12, learning_rate=0.5,
        )  # fmt: skip
        weights = ours.release((X, Y), 1, np.random.default_rng(6)).values.reshape(2, 4)
        expected = np.concatenate([weights[:, :3].ravel(), weights[:, 3]])
        np.testing.assert_allclose(trained, np.tile(expected, (3, 1)), rtol=1e-3, atol=1e-5)
    assert mechanism.losses(TrainingData(X, Y), trained).shape == (3, 12)
    assert mechanism.clipped_gradient(TrainingData(X, Y), trained).shape == (3, 8)
    view = mechanism.showing(np.eye(1, 8)).canary_pair((X[1:], Y[1:]))
    noisy = mechanism.showing(np.eye(1, 8)).release(view.d1, 2, np.random.default_rng(7)).values
    assert noisy.shape == (2, mechanism.steps, 1)
