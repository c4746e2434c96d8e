"""DP-SGD: models per second against Opacus, a jitted vmap and a naive loop, and against the limit of the machine.

Softmax regression, 1,000 records, 64 features, 10 classes, 100 Poisson steps of expected batch size 100, in float32,
on one thread. Peers are measured if they can be imported (the extra `torch`, and jax), the naive loop always.

Where the time goes, in shares of the CPU time of one thread (AMD EPYC, OpenBLAS; the two problems of `main`):

                                              1,000 x 64   60,000 x 784
    the two products of each step                    42 %           56 %
    noise                                            14 %            5 %
    copying the rows of the batch                    10 %           24 %
    derivatives of the loss, norms, clipping         19 %            7 %
    sampling, and calls of numpy                     15 %            8 %

The limit is the time of the products and the noise alone, in the shapes in which a step computes them: what a trainer
on numpy cannot avoid. Two threads are compared with what two threads gain on these products and this noise.
"""

from __future__ import annotations

import importlib.util
import os
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from benchmarks.measure import interleaved, ratio, report, seconds
from threadpoolctl import threadpool_limits

from dpassay.mechanisms.learning.dp_sgd import DPSGD
from dpassay.mechanisms.learning.dp_sgd.steps import standard_normal
from dpassay.mechanisms.learning.models import SoftmaxRegression

N, FEATURES, CLASSES, STEPS, RATE = 1000, 64, 10, 100, 0.1
RUNS = 256
MECHANISM = DPSGD(
    SoftmaxRegression(FEATURES, CLASSES),
    steps=STEPS,
    noise_multiplier=1.0,
    sampling_probability=RATE,
    batch_size=RATE * N,
    dtype="float32",
)


def made() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(N, FEATURES)).astype(np.float32), rng.integers(0, CLASSES, N)


def ours(X: Any, y: Any, runs: int = RUNS, seed: int = 0) -> None:
    MECHANISM.release((X, y), runs, np.random.default_rng(seed))


def naive(X: Any, y: Any) -> None:
    """Train one model with explicit per-example gradients, batch by batch."""
    rng = np.random.default_rng(0)
    A = np.column_stack([X, np.ones(N, dtype=np.float32)])
    W = np.zeros((CLASSES, FEATURES + 1), dtype=np.float32)
    for _ in range(STEPS):
        rows = np.flatnonzero(rng.random(N) < RATE)
        z = A[rows] @ W.T
        p = np.exp(z - z.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        p[np.arange(len(rows)), y[rows]] -= 1.0
        gradients = p[:, :, None] * A[rows][:, None, :]
        norms = np.sqrt((gradients**2).sum(axis=(1, 2)))
        total = (gradients * np.minimum(1.0, 1.0 / norms)[:, None, None]).sum(axis=0)
        W -= 0.1 * (total + rng.standard_normal(W.shape, dtype=np.float32)) / (RATE * N)


def opacus_model(X: Any, y: Any) -> Callable[[], None]:
    """Return a function that trains one model by Opacus, with the Poisson sampling and optimiser of Opacus."""
    import torch
    from opacus import PrivacyEngine
    from torch.utils.data import DataLoader, TensorDataset

    torch.set_num_threads(1)
    data = TensorDataset(torch.from_numpy(X), torch.from_numpy(y))
    loss = torch.nn.CrossEntropyLoss()

    def train() -> None:
        model: Any = torch.nn.Linear(FEATURES, CLASSES)
        optimizer: Any = torch.optim.SGD(model.parameters(), lr=0.1)
        loader: Any = DataLoader(data, batch_size=int(RATE * N))
        model, optimizer, loader = PrivacyEngine().make_private(
            module=model, optimizer=optimizer, data_loader=loader, noise_multiplier=1.0, max_grad_norm=1.0
        )
        step = 0
        while step < STEPS:
            for inputs, targets in loader:
                optimizer.zero_grad()
                loss(model(inputs), targets).backward()
                optimizer.step()
                step += 1
                if step == STEPS:
                    break

    return train


def jax_models(X: Any, y: Any, runs: int) -> Callable[[], Any]:
    """Return a function that trains `runs` models at once: jitted, per-example gradients by vmap, Poisson masks."""
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
    import jax
    import jax.numpy as jnp

    A, labels = jnp.asarray(X), jnp.asarray(y)

    def loss(parameters: Any, x: Any, label: Any) -> Any:
        W, b = parameters
        return -jax.nn.log_softmax(W @ x + b)[label]

    gradients = jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))

    def step(parameters: Any, key: Any) -> tuple[Any, None]:
        coins, first, second = jax.random.split(key, 3)
        drawn = jax.random.bernoulli(coins, RATE, (N,))
        gW, gb = gradients(parameters, A, labels)
        norms = jnp.sqrt((gW**2).sum(axis=(1, 2)) + (gb**2).sum(axis=1))
        scale = drawn * jnp.minimum(1.0, 1.0 / norms)
        W, b = parameters
        W = W - 0.1 * (jnp.einsum("n,nkf->kf", scale, gW) + jax.random.normal(first, W.shape)) / (RATE * N)
        b = b - 0.1 * (scale @ gb + jax.random.normal(second, b.shape)) / (RATE * N)
        return (W, b), None

    def one(key: Any) -> Any:
        start = (jnp.zeros((CLASSES, FEATURES)), jnp.zeros(CLASSES))
        return jax.lax.scan(step, start, jax.random.split(key, STEPS))[0]

    many = jax.jit(jax.vmap(one) if runs > 1 else one)
    keys = jax.random.split(jax.random.key(0), runs) if runs > 1 else jax.random.key(0)
    return lambda: jax.block_until_ready(many(keys))


def products_and_noise(runs: int) -> Callable[[], None]:
    """Return a function that computes the two products and the noise of all steps of `runs` models, and no more.

    The shapes are those of the steps of `MECHANISM`: batches as wide as the largest of a block, and blocks that fit the
    cache.
    """
    rng = np.random.default_rng(0)
    batch, block = int(RATE * N + 2.5 * (RATE * N) ** 0.5), 64
    inputs = rng.random((block, batch, FEATURES + 1), dtype=np.float32)
    weights = rng.random((block, FEATURES + 1, CLASSES), dtype=np.float32)
    deltas = rng.random((block, CLASSES, batch), dtype=np.float32)
    outputs = np.empty((block, batch, CLASSES), dtype=np.float32)
    total = np.empty((block, CLASSES, FEATURES + 1), dtype=np.float32)

    def work() -> None:
        for _ in range(runs // block * STEPS):
            np.matmul(inputs, weights, out=outputs)
            np.matmul(deltas, inputs, out=total)
            standard_normal(total, rng)

    return work


def main() -> None:
    X, y = made()
    with threadpool_limits(1):
        mine, loop = interleaved(lambda: ours(X, y), lambda: naive(X, y), repeats=5)
        speed = RUNS / float(np.median(mine))
        print(f"{'softmax regression, 1,000 x 64, 100 Poisson steps of 100':<64} {speed:8.1f} models a second")
        report("the same / a naive numpy loop", RUNS * ratio(loop, mine), 4.0, smaller_is_better=False)
        alone, mine = interleaved(products_and_noise(RUNS), lambda: ours(X, y), repeats=5)
        report("products and noise of the same shapes alone / all", ratio(alone, mine), 0.5, smaller_is_better=False)
        _peers(X, y)
        _second_core(X, y)
        _mnist()


def _peers(X: Any, y: Any) -> None:
    if importlib.util.find_spec("opacus"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs, mine = interleaved(opacus_model(X, y), lambda: ours(X, y), repeats=7)
        report("models a second / Opacus", RUNS * ratio(theirs, mine), 40.0, smaller_is_better=False)
    else:
        print("Opacus is not installed (extra torch): not compared")
    if importlib.util.find_spec("jax"):
        for runs in (1, 16):
            theirs, mine = interleaved(jax_models(X, y, runs), lambda: ours(X, y), repeats=5)
            what = f"models a second / jitted jax.vmap, {runs} model{'s' if runs > 1 else ''} at once"
            report(what, RUNS / runs * ratio(theirs, mine), 8.0, smaller_is_better=False)
    else:
        print("jax is not installed: not compared")


def _second_core(X: Any, y: Any) -> None:
    """Report what two threads gain, as a share of what they gain on the products and the noise alone."""

    def gain(works: list[Callable[[], None]]) -> float:
        def both() -> None:
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(lambda work: work(), works))

        return ratio(*interleaved(lambda: [work() for work in works], both, repeats=7))

    training = gain([lambda: ours(X, y, RUNS, 0), lambda: ours(X, y, RUNS, 1)])
    possible = gain([products_and_noise(RUNS), products_and_noise(RUNS)])
    print(f"{'two threads / one: training, products and noise':<64} {training:8.3f} x, {possible:.3f} x")
    report("gain of two threads / that on products and noise", training / possible, 0.9, smaller_is_better=False)


def _mnist() -> None:
    """Report the speed on data of the size of MNIST: 60,000 x 784, 1,000 Poisson steps of expected 600."""
    rng = np.random.default_rng(0)
    X, y = rng.random((60_000, 784), dtype=np.float32), rng.integers(0, 10, 60_000)
    mechanism = DPSGD(
        SoftmaxRegression(784, 10),
        steps=1000,
        noise_multiplier=1.0,
        sampling_probability=0.01,
        batch_size=600,
        dtype="float32",
    )
    taken = seconds(lambda: mechanism.release((X, y), 8, rng))
    print(f"{'60,000 x 784, 1,000 Poisson steps of 600: 8 models':<64} {taken:8.2f} s, {8 / taken:.2f} models a second")
