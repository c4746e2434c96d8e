"""MST and AIM pipelines: MST on 8 attributes of 4 values, tables of 1,000 rows: all trees at once, and one by one."""

from __future__ import annotations

import numpy as np
from benchmarks.measure import report, seconds

from dpassay.mechanisms.literature.synthetic_data import (
    MST,
    DirectGenerator,
    GraphicalModel,
    SelectMeasureGenerate,
    TreeModel,
)
from dpassay.mechanisms.literature.synthetic_data.selection.aim import AIM
from dpassay.mechanisms.noise.queries.domain import Domain

DOMAIN = Domain({f"attribute {i}": 4 for i in range(8)})
SMALL = Domain({"a": 2, "b": 3, "c": 2, "d": 4})


def records(domain: Domain, n: int = 5000) -> np.ndarray:
    """Return records whose attributes equal a common one with probability one half."""
    rng = np.random.default_rng(0)
    leader = rng.integers(0, min(domain.shape), n)
    return np.column_stack([np.where(rng.random(n) < 0.5, leader, rng.integers(0, size, n)) for size in domain.shape])


def main() -> None:
    data = records(DOMAIN)
    pipelines = [
        SelectMeasureGenerate(DOMAIN, MST(0.1), generator, view="table", n_rows=1000)
        for generator in (TreeModel(), GraphicalModel())
    ]
    at_once = seconds(lambda: pipelines[0].release(data, 1000, np.random.default_rng(1)))
    report("1,000 releases of MST, 8 attributes", at_once, 60.0, unit="s")
    twenty, one_by_one = (seconds(lambda p=p: p.release(data, 20, np.random.default_rng(1))) for p in pipelines)
    report("20 releases of MST: all trees at once / a graphical model a tree", twenty / one_by_one, 1.0)
    aim = SelectMeasureGenerate(SMALL, AIM(0.3, workload=2, rounds=8), DirectGenerator(n_steps=200, tolerance=0.01))
    spent = seconds(lambda: aim.release(records(SMALL, 2000), 100, np.random.default_rng(1)))
    report("100 transcripts of AIM, 48 cells, 8 rounds", spent, 20.0, unit="s")


if __name__ == "__main__":
    main()
