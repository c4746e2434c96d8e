"""Small runs of every command that writes a page: what a browser test opens."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

ONE_AUDIT = '[mechanism]\nname = "laplace"\nepsilon = 1.0\n[audit]\ntrials = 20_000\ndelta = 0.0\n'
N_TEXTS = 200


def dpassay(folder: Path, *words: str) -> None:
    """Run a command in a folder, as a user does; verdicts are fine, errors are not."""
    done = subprocess.run(
        [sys.executable, "-m", "dpassay", *words], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1, 3):
        raise AssertionError(f"dpassay {' '.join(words)}: {done.returncode}\n{done.stdout}\n{done.stderr}")


def single(folder: Path) -> None:
    """Audit one mechanism, and write its card."""
    (folder / "one.toml").write_text(ONE_AUDIT)
    dpassay(folder, "run", "one.toml", "--out", "out")
    dpassay(folder, "card", "out")


def consistent(folder: Path) -> None:
    """Sweep claims that hold."""
    dpassay(folder, "run", "laplace-count", "--set", "audit.trials=20_000", "--out", "out")


def refuted(folder: Path) -> None:
    """Sweep four claims, of which two are false."""
    dpassay(folder, "run", "broken-laplace", "--out", "out")


def membership(folder: Path) -> None:
    """Attack one model with its losses."""
    rng = np.random.default_rng(0)
    np.savez(folder / "losses.npz", loss_train=rng.gamma(1.0, 0.3, 400), loss_test=rng.gamma(2.0, 0.5, 400))
    dpassay(folder, "membership", "losses.npz", "--out", "out")


def texts(folder: Path) -> None:
    """Audit one language model with coins."""
    rng = np.random.default_rng(0)
    (folder / "ids.txt").write_text("".join(f"t{i}\n" for i in range(N_TEXTS)))
    dpassay(folder, "coins", "ids.txt", "--out", "coins.json", "--seed", "0")
    included = set(json.loads((folder / "coins.json").read_text())["included"])
    lines = []
    for i in range(N_TEXTS):
        values = rng.normal(-2.0 + 0.8 * (f"t{i}" in included), 0.5, 20)
        lines.append(json.dumps({"id": f"t{i}", "log_probabilities": np.minimum(values, -0.01).tolist()}))
    (folder / "texts.jsonl").write_text("\n".join(lines))
    claim = ["--epsilon", "2", "--delta", "1e-5"]
    dpassay(folder, "text", "texts.jsonl", "--coins", "coins.json", *claim, "--out", "out")


def _risk(folder: Path, *, n_copied: int) -> None:
    rng = np.random.default_rng(0)
    names = np.array(["north", "south", "east", "west"])
    real, synthetic, holdout = (
        pd.DataFrame(
            {
                "age": rng.integers(18, 90, 300),
                "income": rng.lognormal(10.0, 0.6, 300).round(2),
                "weight": rng.normal(75.0, 12.0, 300).round(1),
                "place": names[rng.integers(0, 4, 300)],
            }
        )
        for _ in range(3)
    )
    synthetic.iloc[:n_copied] = real.iloc[:n_copied]
    for name, table in (("real", real), ("synthetic", synthetic), ("holdout", holdout)):
        table.to_csv(folder / f"{name}.csv", index=False)
    dpassay(folder, "risk", "real.csv", "synthetic.csv", "--holdout", "holdout.csv", "--out", "out")


def risk_clean(folder: Path) -> None:
    """Measure a table of new people."""
    _risk(folder, n_copied=0)


def risk_leaking(folder: Path) -> None:
    """Measure a table with copied people."""
    _risk(folder, n_copied=60)


def certificate(folder: Path) -> None:
    """Measure the coverage of one bound."""
    dpassay(folder, "calibrate", "--bound", "clopper-pearson", "--repeats", "10", "--quiet", "--out", "out")


def demos(folder: Path) -> None:
    """Play demos whose pages have a ladder, panels, tables, refusals, answers, and all plots of one audit."""
    for name in ("add-or-replace", "gaussian-tails", "row-of-a-regression"):
        dpassay(folder, "demo", name, "--out", "out")


RUNS: dict[str, Callable[[Path], None]] = {
    "single": single,
    "consistent": consistent,
    "refuted": refuted,
    "membership": membership,
    "texts": texts,
    "risk-clean": risk_clean,
    "risk-leaking": risk_leaking,
    "certificate": certificate,
    "demos": demos,
}
"""Name -> what makes its files in a folder of its own; each page is a file in `out`."""
