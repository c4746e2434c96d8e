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

The limit below counts the products at the rate of large ones. Those of a step have 10 columns, and reach 40 to 55 % of
this rate: with everything but products and noise for nothing, the share of the limit would be 0.6 on the small problem.
On the large one, rows of 3 KB from all over the memory take 0.19 ms a step and model, four times as long as rows in the
cache, and the products 0.32 ms where ideal ones take 0.17. Smaller blocks, which fit in the second-level cache, gave
5 % on the large problem and lost up to 70 % on the small one.
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


def machine_limit() -> float:
    """Return the seconds of the two matrix products, at the rate of large ones, and of the noise of `RUNS` models.

    A lower limit for every batched trainer on numpy.
    """
    rng = np.random.default_rng(0)
    a = rng.random((2048, 512), dtype=np.float32)
    b = rng.random((512, 2048), dtype=np.float32)
    noise = np.empty(10**6, dtype=np.float32)
    product = min(seconds(lambda: a @ b) for _ in range(5)) / (2 * 2048 * 512 * 2048)
    normal = min(seconds(lambda: standard_normal(noise, rng)) for _ in range(5)) / 1e6
    parameters = CLASSES * (FEATURES + 1)
    flops = 2 * 2 * RATE * N * parameters
    print(f"{'this machine, one thread':<64} {1e-9 / product:8.1f} GFlop/s, {1e-6 / normal:.1f} M normals/s")
    return RUNS * STEPS * (flops * product + parameters * normal)


def main() -> None:
    X, y = made()
    with threadpool_limits(1):
        mine, loop = interleaved(lambda: ours(X, y), lambda: naive(X, y), repeats=5)
        speed = RUNS / float(np.median(mine))
        print(f"{'softmax regression, 1,000 x 64, 100 Poisson steps of 100':<64} {speed:8.1f} models a second")
        report("the same / a naive numpy loop", RUNS * ratio(loop, mine), 4.0, smaller_is_better=False)
        share = machine_limit() / min(mine)
        print(f"{'share of this limit: products and noise alone / all':<64} {share:8.3f}")
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
    def two() -> None:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda seed: ours(X, y, runs, seed), (0, 1)))

    runs = 2 * RUNS
    one, both = interleaved(lambda: (ours(X, y, runs), ours(X, y, runs)), two, repeats=5)
    report("two threads / one", ratio(one, both), 1.7, smaller_is_better=False)


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
