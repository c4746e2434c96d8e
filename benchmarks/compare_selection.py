"""Comparison with MST and AIM of `opendp.extras.mbi` on coded Adult, in a separate environment.

    python -m venv OTHER && OTHER/bin/pip install 'opendp[mbi]'
    OTHER/bin/python benchmarks/compare_selection.py FOLDER mst
    OTHER/bin/python benchmarks/compare_selection.py FOLDER aim relationship race sex 'income>50K'
    python benchmarks/compare_selection.py FOLDER mst --ours
    python benchmarks/compare_selection.py FOLDER mst --ours --penalty 0 --shares 0.5 0.05 0.45

FOLDER contains adult_coded.csv and adult_domain.json. Both print the mean over all pairs of |exact - model|_1 / n. The
budget is a number for which rounding errors in the accounting of the reference do not raise (opendp issue 2789).
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

RHO = 0.014970002
"""zCDP parameter of epsilon 1 at delta 1e-9."""


def reference(which: str, rows: np.ndarray, domain: dict[str, int]) -> Callable[[str, str], np.ndarray]:
    """Return the counts of a pair in the model of the reference, without its cells for missing values."""
    import opendp.prelude as dp  # type: ignore[import-not-found,unused-ignore]
    import polars as pl  # type: ignore[import-not-found,unused-ignore]

    dp.enable_features("contrib")
    algorithm: Any = dp.mbi.MST() if which == "mst" else dp.mbi.AIM(queries=2)
    context = dp.Context.compositor(
        data=pl.DataFrame(rows, schema=list(domain)).lazy(),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(rho=RHO),
    )
    keys = {name: list(range(n)) for name, n in domain.items()}
    table = context.query(rho=RHO).select(*domain).contingency_table(keys=keys, algorithm=algorithm).release()
    return lambda a, b: np.asarray(table.project((a, b)))[: domain[a], : domain[b]]


def ours(which: str, rows: np.ndarray, domain: dict[str, int], **options: Any) -> Callable[[str, str], np.ndarray]:
    """Return the counts of a pair in the model of dpassay; `options` are those of MST."""
    from dpassay.mechanisms.literature.synthetic_data import AIM, MST, DirectGenerator, SelectMeasureGenerate, TreeModel
    from dpassay.mechanisms.noise.queries.domain import Domain

    known = Domain(tuple(domain.items()))
    selection = MST(RHO, **options) if which == "mst" else AIM(RHO, workload=2)
    generator = TreeModel() if which == "mst" else DirectGenerator(n_steps=200, tolerance=0.05)
    fitted = SelectMeasureGenerate(known, selection, generator).synthesised(rows, 1, np.random.default_rng())
    return lambda a, b: fitted.marginal((a, b))[0].reshape(domain[a], domain[b])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("which", choices=("mst", "aim"))
    parser.add_argument("attributes", nargs="*", help="default: all")
    parser.add_argument("--ours", action="store_true")
    parser.add_argument("--shares", type=float, nargs=3, help="shares of the budget of MST, with --ours")
    parser.add_argument("--penalty", type=float, help="penalty of MST, with --ours")
    arguments = parser.parse_args()
    options = {name: value for name in ("shares", "penalty") if (value := getattr(arguments, name)) is not None}
    domain = json.loads((arguments.folder / "adult_domain.json").read_text())
    names = list(domain)
    table = np.loadtxt(arguments.folder / "adult_coded.csv", delimiter=",", skiprows=1, dtype=np.int64)
    chosen = arguments.attributes or names
    rows, domain = table[:, [names.index(name) for name in chosen]], {name: domain[name] for name in chosen}
    start = time.process_time()
    model = (
        ours(arguments.which, rows, domain, **options) if arguments.ours else reference(arguments.which, rows, domain)
    )
    spent, errors = time.process_time() - start, []
    for (i, a), (j, b) in itertools.combinations(enumerate(chosen), 2):
        exact = np.zeros((domain[a], domain[b]))
        np.add.at(exact, (rows[:, i], rows[:, j]), 1)
        errors.append(np.abs(exact - model(a, b)).sum() / len(rows))
    print(
        f"{arguments.which}: mean error of {len(errors)} pairs {np.mean(errors):.4f}, {spent:.0f} s of processor time"
    )


if __name__ == "__main__":
    main()
