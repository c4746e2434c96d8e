"""Audit mechanisms of other libraries, and write docs/gallery/libraries.json: `make gallery`.

Null hypothesis of each row: the claim that the library states for the call holds. Fixed before any run: the call,
its pair, trials and confidence. The bounds of the rows are separate statements; at confidence 1 - 1e-6 each, a false
violation among all rows has a probability of at most 1e-6 times their number. Rows of a library that is not installed
stay as they are.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from dpassay.audit import audit
from dpassay.mechanisms import GaussianDP, Neighbours

FILE = Path(__file__).parents[1] / "gallery" / "libraries.json"
CONFIDENCE = 1 - 1e-6

Row = tuple[str, Any, dict[str, Any]]
"""What is audited, the mechanism or function, and arguments of `audit`."""


def opendp() -> Iterator[Row]:
    """Measurements with the claim of their privacy map."""
    import opendp.prelude as dp

    from dpassay.mechanisms.adapters.measurements import opendp_measurement

    dp.enable_features("contrib", "honest-but-curious")
    real, whole = dp.atom_domain(T=float, nan=False), dp.atom_domain(T=int)
    utilities = dp.vector_domain(whole), dp.linf_distance(T=int), dp.max_divergence()
    made = {
        "make_laplace": (dp.m.make_laplace(real, dp.absolute_distance(T=float), scale=1.0), 0.0, 1.0),
        "make_geometric": (dp.m.make_geometric(whole, dp.absolute_distance(T=int), scale=1.0), 0, 1),
        "make_randomized_response_bool": (dp.m.make_randomized_response_bool(prob=0.75), False, True),
        "make_noisy_max": (dp.m.make_noisy_max(*utilities, scale=2.0), [3, 3, 3], [2, 4, 4]),
    }
    for name, (measurement, d0, d1) in made.items():
        yield name, opendp_measurement(measurement, d0, d1), {"trials": 5_000, "delta": 0.0}
    gaussian = dp.m.make_gaussian(real, dp.absolute_distance(T=float), scale=1.0)
    yield "make_gaussian", opendp_measurement(gaussian, 0.0, 1.0), {"trials": 5_000, "delta": 1e-3}


def diffprivlib() -> Iterator[Row]:
    """Mechanisms and tools with the claim of their options."""
    from diffprivlib import mechanisms as m, tools

    from dpassay.mechanisms.adapters.measurements import diffprivlib_mechanism, diffprivlib_tool

    replaced = Neighbours(np.array([0.2, 0.9, 0.4, 0.0]), np.array([0.2, 0.9, 0.4, 1.0]), "replace_one")
    pure = {"trials": 5_000, "delta": 0.0}
    yield "Laplace", diffprivlib_mechanism(m.Laplace(epsilon=1.0, sensitivity=1.0), 1.0, 2.0), pure
    yield "Geometric", diffprivlib_mechanism(m.Geometric(epsilon=1.0, sensitivity=1), 1, 2), pure
    yield "Staircase", diffprivlib_mechanism(m.Staircase(epsilon=1.0, sensitivity=1.0), 1.0, 2.0), pure
    yield "tools.mean", diffprivlib_tool(tools.mean, replaced, epsilon=1.0, bounds=(0.0, 1.0)), pure
    gaussian = m.GaussianAnalytic(epsilon=1.0, delta=1e-3, sensitivity=1.0)
    yield "GaussianAnalytic", diffprivlib_mechanism(gaussian, 1.0, 2.0), {"trials": 5_000, "delta": 1e-3}


def opacus() -> Iterator[Row]:
    """DP-SGD by `make_private`, with the claim of dpassay's accountant; constants from the data, or public."""
    from dataclasses import replace

    import torch
    from sklearn.datasets import load_digits

    from dpassay.mechanisms.adapters.opacus import OpacusTraining
    from dpassay.mechanisms.core import remove_record

    X, y = load_digits(return_X_y=True)
    X = X / 16
    training = OpacusTraining(
        lambda: torch.nn.Linear(64, 10),
        make_optimizer=lambda parameters: torch.optim.SGD(parameters, lr=0.5),
        n_records=577,
        batch_size=64,
        noise_multiplier=2.0,
    )
    pair = remove_record((X[:577], y[:577]), 0)
    options = {"neighbours": pair, "trials": 200, "delta": 1e-5, "seed": 1}
    yield "make_private, 577 records, batches of 64", training, options
    yield "the same, with public constants", replace(training, constants="public"), options


def jax_privacy() -> Iterator[Row]:
    """One step of DP-SGD: clipped gradients, and the Gaussian privatizer; sensitivity 1 under add_remove."""
    import jax
    from jax_privacy import clipped_grad, noise_addition

    gradient = clipped_grad(lambda parameter, record: 0.5 * ((record - parameter) ** 2).sum(), l2_clip_norm=1.0)

    def release(dataset: Any, size: int, rng: np.random.Generator) -> Any:
        total = gradient(np.zeros(3, np.float32), np.asarray(dataset, np.float32))

        def noisy(key: Any) -> Any:
            privatizer = noise_addition.gaussian_privatizer(stddev=1.0, prng_key=key)
            return privatizer.update(total, privatizer.init(total))[0]

        keys = jax.random.split(jax.random.key(int(rng.integers(2**31))), size)
        return np.asarray(jax.vmap(noisy)(keys), float)

    pair = Neighbours([[0.1, 0.2, 0.0]], [[0.1, 0.2, 0.0], [30.0, 0.0, 0.0]], "add_remove")
    options = {"neighbours": pair, "claim": GaussianDP(1.0), "delta": 1e-3, "trials": 20_000, "seed": 0}
    yield "clipped_grad and gaussian_privatizer", release, options


def rebuilt() -> Iterator[tuple[str, Row]]:
    """Mechanisms that are rebuilt from the source of a library, with the fault that the source has or had."""
    from dpassay.mechanisms.literature.federated.broken import SensitivityNotOfClip
    from dpassay.mechanisms.noise.broken import ClassicGaussian
    from dpassay.mechanisms.selection.sparse_vector.broken import BudgetOfThreshold

    threshold = BudgetOfThreshold(epsilon=1.0, n_queries=10, stop_after=4)
    rows: list[tuple[str, str, Any, int, float]] = [
        ("Flower", "LocalDpMod, epsilon = 8, delta = 0.1", ClassicGaussian(epsilon=8.0, delta=0.1), 1_000_000, 0.1),
        ("Flower", "LocalDpMod, sensitivity = clipping_norm", SensitivityNotOfClip(), 100_000, 1e-5),
        ("NVFlare", "SVTPrivacy, before pull request 4470", threshold, 100_000, 0.0),
    ]
    for library, what, broken, trials, delta in rows:
        options = {"trials": trials, "delta": delta, "seed": 0}
        yield library, (what, broken, options)
        yield library, (f"{what}, corrected", broken.twin(), options)


LIBRARIES: dict[str, Callable[[], Iterator[Row]]] = {
    "opendp": opendp, "diffprivlib": diffprivlib, "opacus": opacus, "jax-privacy": jax_privacy,
}  # fmt: skip
"""Distribution -> its rows."""


def row(library: str, installed: str, what: str, mechanism: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Run one audit, and return its row."""
    result = audit(mechanism, confidence=CONFIDENCE, **options)
    sys.stdout.write(
        f"{library} {installed}, {what}: {result.verdict}, {result.bound.epsilon:.3g} of {result.claim:.3g}\n"
    )
    return {
        "library": library, "version": installed, "audited": what, "claim": round(result.claim, 4),
        "delta": result.delta, "bound": round(result.bound.epsilon, 4), "verdict": str(result.verdict),
        "trials": options["trials"], "confidence": CONFIDENCE, "date": date.today().isoformat(),
    }  # fmt: skip


def main() -> None:
    """Audit what is installed, and keep the rows of the other libraries."""
    known = json.loads(FILE.read_text()) if FILE.exists() else []
    rows: list[dict[str, Any]] = []
    for library, make in LIBRARIES.items():
        try:
            installed = version(library)
        except PackageNotFoundError:
            sys.stdout.write(f"{library} is not installed: its rows stay as they are\n")
            rows += [one for one in known if one["library"] == library]
            continue
        rows += [row(library, installed, *one) for one in make()]
    rows += [row(library, "rebuilt", *one) for library, one in rebuilt()]
    FILE.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
