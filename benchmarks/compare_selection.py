"""MST and AIM of `opendp.extras.mbi` on coded Adult, for comparison; run it in an environment of its own:

    python -m venv OTHER && OTHER/bin/pip install 'opendp[mbi]'
    OTHER/bin/python benchmarks/compare_selection.py FOLDER mst
    OTHER/bin/python benchmarks/compare_selection.py FOLDER aim marital-status relationship race sex workclass
    python benchmarks/compare_selection.py FOLDER mst --ours

FOLDER holds adult_coded.csv and adult_domain.json. Both print the mean over all pairs of |exact - model|_1 / n. The
budget is a number with which the reference does not stumble over the last bits of its own books (opendp issue 2789).
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
"""epsilon 1 at delta 1e-9."""


def reference(which: str, rows: np.ndarray, domain: dict[str, int]) -> Callable[[str, str], np.ndarray]:
    """The counts of a pair in the model of the reference; what it gives to missing values is left out."""
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


def ours(which: str, rows: np.ndarray, domain: dict[str, int]) -> Callable[[str, str], np.ndarray]:
    """The counts of a pair in our model, with the shares of the reference."""
    from dpassay.mechanisms.queries.domain import Domain
    from dpassay.mechanisms.synthesis import AIM, MST, DirectGenerator, SelectMeasureGenerate, TreeModel

    known = Domain(tuple(domain.items()))
    selection = MST(RHO, shares=(0.5, 0.05, 0.45)) if which == "mst" else AIM(RHO, workload=2)
    generator = TreeModel() if which == "mst" else DirectGenerator(n_steps=200, tolerance=0.05)
    fitted = SelectMeasureGenerate(known, selection, generator).synthesised(rows, 1, np.random.default_rng())
    return lambda a, b: fitted.marginal((a, b))[0].reshape(domain[a], domain[b])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("which", choices=("mst", "aim"))
    parser.add_argument("attributes", nargs="*", help="all, where left out")
    parser.add_argument("--ours", action="store_true")
    given = parser.parse_args()
    domain = json.loads((given.folder / "adult_domain.json").read_text())
    names = list(domain)
    table = np.loadtxt(given.folder / "adult_coded.csv", delimiter=",", skiprows=1, dtype=np.int64)
    chosen = given.attributes or names
    rows, domain = table[:, [names.index(one) for one in chosen]], {one: domain[one] for one in chosen}
    start = time.process_time()
    model = (ours if given.ours else reference)(given.which, rows, domain)
    spent, errors = time.process_time() - start, []
    for (i, a), (j, b) in itertools.combinations(enumerate(chosen), 2):
        exact = np.zeros((domain[a], domain[b]))
        np.add.at(exact, (rows[:, i], rows[:, j]), 1)
        errors.append(np.abs(exact - model(a, b)).sum() / len(rows))
    print(f"{given.which}: mean error of {len(errors)} pairs {np.mean(errors):.4f}, {spent:.0f} s of processor time")


if __name__ == "__main__":
    main()
