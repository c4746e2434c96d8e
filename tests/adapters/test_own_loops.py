"""Training loops of users through Coins, and PyTorch modules as shadow models; run by `make test-adapters`."""

import numpy as np
import pytest

from dpassay.attacks.canaries import inserted_tokens, mislabelled, out_of_distribution
from dpassay.audit.games import train_shadows
from dpassay.audit.games.coins import Coins
from dpassay.audit.metrics.membership import evaluate
from dpassay.mechanisms.accounting import ApproximateDP
from dpassay.mechanisms.adapters import TorchLearner

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 300)).astype(np.float32)
Y = RNG.integers(0, 2, 400)
CANARIES = mislabelled(X, Y, 400, seed=1)
CLAIM = ApproximateDP(1.0, 1e-5)


def tossed():
    """Return coins of the canaries, and those that are in the training set."""
    coins = Coins.toss(CANARIES.ids, seed=2)
    return coins, CANARIES.where(coins.included)


def verdict(coins, losses, claim=CLAIM):
    return coins.audit(losses=dict(zip(coins.ids, losses, strict=True)), claim=claim).verdict.value


def torch():
    return pytest.importorskip("torch", reason="needs dpassay[torch]")


def opacus_losses(noise_multiplier):
    """Return losses of the canaries after training with Opacus, and the epsilon of its accountant."""
    t, opacus = torch(), pytest.importorskip("opacus", reason="needs dpassay[torch]")
    t.manual_seed(0)
    coins, inside = tossed()
    data = t.utils.data.TensorDataset(t.tensor(inside.records), t.tensor(inside.labels))
    loader = t.utils.data.DataLoader(data, batch_size=40)
    model = t.nn.Linear(X.shape[1], 2)
    optimiser = t.optim.SGD(model.parameters(), lr=1.0)
    engine = opacus.PrivacyEngine(accountant="rdp")
    model, optimiser, loader = engine.make_private(
        module=model, optimizer=optimiser, data_loader=loader, noise_multiplier=noise_multiplier, max_grad_norm=1.0
    )
    for _ in range(20):
        for inputs, labels in loader:
            optimiser.zero_grad()
            t.nn.functional.cross_entropy(model(inputs), labels).backward()
            optimiser.step()
    with t.no_grad():
        outputs = model(t.tensor(CANARIES.records))
        losses = t.nn.functional.cross_entropy(outputs, t.tensor(CANARIES.labels), reduction="none")
    return coins, losses, engine.get_epsilon(1e-5)


@pytest.mark.filterwarnings("ignore")  # Opacus and PyTorch warn of each other
def test_training_with_opacus_keeps_its_claim():
    coins, losses, epsilon = opacus_losses(noise_multiplier=2.0)
    assert verdict(coins, losses, ApproximateDP(epsilon, 1e-5)) != "violation"


@pytest.mark.filterwarnings("ignore")
def test_training_with_opacus_and_hardly_any_noise_violates_a_small_claim():
    coins, losses, _ = opacus_losses(noise_multiplier=0.01)
    assert verdict(coins, losses) == "violation"


def test_an_estimator_of_scikit_learn_that_fits_its_records_is_caught():
    linear_model = pytest.importorskip("sklearn.linear_model")
    coins, inside = tossed()
    model = linear_model.LogisticRegression(C=100.0, max_iter=1_000).fit(inside.records, inside.labels)
    p = model.predict_proba(CANARIES.records)[np.arange(len(CANARIES)), CANARIES.labels]
    assert verdict(coins, -np.log(np.maximum(p.astype(np.float64), 1e-300))) == "violation"


def test_a_loop_in_jax_that_fits_its_records_is_caught():
    jax = pytest.importorskip("jax", reason="comes with mbi")
    coins, inside = tossed()

    def losses(w, X, y):
        return jax.nn.softplus(-(2.0 * y - 1.0) * (X @ w))

    step = jax.jit(lambda w: w - jax.grad(lambda v: losses(v, inside.records, inside.labels).mean())(w))
    w = jax.numpy.zeros(X.shape[1])
    for _ in range(200):
        w = step(w)
    assert verdict(coins, losses(w, CANARIES.records, CANARIES.labels)) == "violation"


def character_losses(n_epochs):
    """Train a small causal model on texts with inserted digits, in the style of Hugging Face: collate, loop, loss.

    Returns:
        Coins, and the loss of each text after training less the loss before it.
    """
    t = torch()
    t.manual_seed(0)
    canaries = inserted_tokens([f"user {i} says hello" for i in range(200)], 200, seed=3, n_tokens=8)
    coins = Coins.toss(canaries.ids, seed=4)
    letters = {letter: k + 1 for k, letter in enumerate(sorted(set("".join(canaries.records))))}

    class TinyCausalModel(t.nn.Module):
        """Embedding, recurrent layer and head; returns a dictionary with the loss of each text, as trainers expect."""

        def __init__(self):
            super().__init__()
            self.embed, self.head = t.nn.Embedding(len(letters) + 1, 32), t.nn.Linear(128, len(letters) + 1)
            self.layer = t.nn.GRU(32, 128, batch_first=True)

        def forward(self, input_ids, labels):
            logits = self.head(self.layer(self.embed(input_ids))[0])[:, :-1]
            return {"loss": t.nn.functional.cross_entropy(logits.mT, labels[:, 1:], reduction="none", ignore_index=0)}

    def collate(texts):
        rows = [t.tensor([letters[letter] for letter in text]) for text in texts]
        ids = t.nn.utils.rnn.pad_sequence(rows, batch_first=True)
        return {"input_ids": ids, "labels": ids}

    def losses():
        with t.no_grad():
            return model(**collate(canaries.records))["loss"].sum(dim=1)

    model = TinyCausalModel()
    before = losses()
    loader = t.utils.data.DataLoader(
        list(canaries.where(coins.included).records), batch_size=25, shuffle=True, collate_fn=collate
    )
    optimiser = t.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(n_epochs):
        for batch in loader:
            optimiser.zero_grad()
            model(**batch)["loss"].mean().backward()
            optimiser.step()
    return coins, losses() - before


def test_a_language_model_that_remembers_inserted_tokens_is_caught():
    coins, losses = character_losses(n_epochs=80)
    assert verdict(coins, losses) == "violation"


def test_a_language_model_that_is_not_trained_is_not():
    coins, losses = character_losses(n_epochs=0)
    assert verdict(coins, losses.numpy() + 1e-3 * RNG.normal(size=200)) != "violation"


def ordinary_training():
    """Return a training function of PyTorch that workers can read: it is defined in no module."""

    def train(X, y, rng):
        import torch as t

        model = t.nn.Sequential(
            t.nn.Flatten(), t.nn.Linear(300, 32), t.nn.ReLU(), t.nn.Dropout(0.1), t.nn.Linear(32, 2)
        )
        optimiser = t.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(30):
            optimiser.zero_grad()
            t.nn.functional.cross_entropy(model(X), y).backward()
            optimiser.step()
        return model

    return train


def test_modules_are_shadow_models_that_repeat_and_resume(tmp_path):
    t = torch()
    learner = TorchLearner(ordinary_training(), shape=(3, 100))
    state = t.get_rng_state()
    shadows = train_shadows(learner, (X, Y), 8, seed=0, store=tmp_path)
    assert t.equal(state, t.get_rng_state())
    for options in ({}, {"store": tmp_path}, {"n_jobs": 2}):
        again = train_shadows(learner, (X, Y), 8, seed=0, **options)
        np.testing.assert_allclose(again.signal("loss"), shadows.signal("loss"), rtol=1e-5)
    assert evaluate(shadows, ["loss"]).attacks[0].auc > 0.9


def test_canaries_out_of_distribution_are_images_of_the_same_type():
    t = torch()
    images = t.zeros(10, 1, 4, 4, dtype=t.uint8)
    images[5:] = 255
    made = out_of_distribution(images, t.arange(10) % 2, 20, seed=0)
    assert t.tensor(made.records).dtype == t.uint8
    assert made.records.shape == (20, 1, 4, 4)


def test_tensors_are_ids_and_losses():
    t = torch()
    coins = Coins.toss(t.arange(200), seed=0)
    losses = t.linspace(0.0, 1.0, 200, requires_grad=True)
    by_tensor = coins.evidence(losses=dict(zip(t.arange(200), losses, strict=True))).scores[0]
    np.testing.assert_array_equal(by_tensor, -losses.detach().double().numpy())
