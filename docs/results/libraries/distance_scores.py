"""Scores that other tools give to synthetic tables, beside `dpassay risk`: docs/results/distance_scores.json, and the
table "Scores of synthetic tables" of docs/explanation/audits-audited.md.

    python docs/results/libraries/distance_scores.py [TOOL...]

Fixed before any run: four populations, five seeds of each, and the settings, which are the defaults of each tool. From
a population three tables of the same size are drawn: real, holdout, and a clean synthetic one, whose rows are other
records of the population. In the leaking one 5 % of these rows are replaced by copies of real records. The clean one
thus depends on no real record, and is as near to them as the population is to itself.

distance_scores_calls.py   the calls of the tools, each run in an environment of its own
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from environments import ROOT, environment
from sklearn.datasets import load_breast_cancer, load_digits

from dpassay.audit.metrics import risk

FILE = ROOT / "docs" / "results" / "distance_scores.json"
PAGE = ROOT / "docs" / "explanation" / "audits-audited.md"
SEEDS = range(34_000, 34_005)
KINDS = ("clean", "leaking")
SHARE = 0.05
"""Of the rows of a leaking table that are copies of real records."""
MODULES = ("torch", "sentence-transformers", "category-encoders", "plotly", "dython", "datasets", "tenacity")
"""What the evaluation of NeMo Safe Synthesizer imports and its core does not install."""
TOOLS = {
    "sdmetrics": ("sdmetrics==0.32.0",),
    "nemo": ("nemo-safe-synthesizer==0.1.16", *MODULES),
    "syntheval": ("syntheval==1.7.3",),
    "anonymeter": ("anonymeter==1.1.0",),
}
SCORES = {
    "SDMetrics, overfitting protection": ("sdmetrics", "DCROverfittingProtection", "low"),
    "SDMetrics, baseline protection": ("sdmetrics", "DCRBaselineProtection", "low"),
    "NeMo Safe Synthesizer, membership inference protection, 0 to 10": ("nemo", "membership", "low"),
    "SynthEval, median distance to the closest record": ("syntheval", "median_DCR", "low"),
    "SynthEval, privacy loss": ("syntheval", "priv_loss_eps", "high"),
    "SynthEval, recall of a membership classifier": ("syntheval", "mia_recall", "high"),
    "Anonymeter, singling out, lower limit": ("anonymeter", "singling out", "high"),
    "Anonymeter, linkability, lower limit": ("anonymeter", "linkability", "high"),
}
"""Row of the page: tool, name of the score, and which values speak for a leak."""


def people(n: int, blocks: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return n people with six independent columns in each block."""
    columns: dict[str, Any] = {}
    for block in range(blocks):
        columns |= {
            f"age{block}": rng.integers(18, 90, n),
            f"income{block}": rng.lognormal(10, 0.6, n).round(2),
            f"weight{block}": rng.normal(75, 12, n).round(1),
            f"height{block}": rng.normal(170, 10, n).round(1),
            f"place{block}": rng.choice(list("abcdef"), n),
            f"job{block}": rng.choice(list("ghijklmnopqr"), n),
        }
    return pd.DataFrame(columns)


def shuffled(load: Callable[..., Any], n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return n random rows of a data set of scikit-learn."""
    values = rng.permutation(load()["data"])[:n]
    return pd.DataFrame(values, columns=[f"x{i}" for i in range(values.shape[1])])


POPULATIONS: dict[str, Callable[[np.random.Generator], pd.DataFrame]] = {
    "people, 6 columns": lambda rng: people(900, 1, rng),
    "people, 24 columns": lambda rng: people(900, 4, rng),
    "breast cancer": lambda rng: shuffled(load_breast_cancer, 567, rng),
    "digits": lambda rng: shuffled(load_digits, 600, rng),
}


def tables(population: str, seed: int, kind: str) -> dict[str, pd.DataFrame]:
    """Return the tables real, synthetic and holdout; the synthetic one is "clean" or "leaking"."""
    rng = np.random.default_rng(seed)
    drawn = POPULATIONS[population](rng)
    n = len(drawn) // 3
    real, holdout, synthetic = (drawn[i * n : (i + 1) * n].reset_index(drop=True) for i in range(3))
    if kind == "leaking":
        copied = round(SHARE * n)
        synthetic = pd.concat([real[:copied], synthetic[copied:]]).iloc[rng.permutation(n)]
    return {"real": real, "synthetic": synthetic, "holdout": holdout}


def scores(tool: str, wanted: dict[str, dict[str, pd.DataFrame]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name of a table and its scores by a tool; of "dpassay" the number of findings.

    Raises:
        RuntimeError: the tool fails.
    """
    if tool == "dpassay":
        for name, three in wanted.items():
            yield name, {"findings": len(risk(**three).findings)}
        return
    python = environment(tool, TOOLS[tool])
    with tempfile.TemporaryDirectory() as folder:
        for name, three in wanted.items():
            (Path(folder) / name).mkdir()
            for part, frame in three.items():
                frame.to_csv(Path(folder) / name / f"{part}.csv", index=False)
        call = [python, Path(__file__).parent / "distance_scores_calls.py", tool, folder]
        with subprocess.Popen(call, stdout=subprocess.PIPE, text=True) as run:
            for line in run.stdout or ():
                if line.startswith('{"table"'):
                    found = json.loads(line)
                    yield found.pop("table"), found
    if run.returncode:
        raise RuntimeError(f"{tool} ended with {run.returncode}")


def table(records: dict[str, dict[str, dict[str, Any]]]) -> str:
    """Return the table of the page: range of each score over clean and over leaking tables of each population.

    With the latter stands how many of them lie beyond all clean ones, on the side that speaks for a leak.
    """
    lines = [f"| score | tables | {' | '.join(POPULATIONS)} |", "|---|---|" + "---|" * len(POPULATIONS)]
    for title, (tool, score, side) in SCORES.items():
        cells: dict[str, list[str]] = {kind: [] for kind in KINDS}
        for population in POPULATIONS:
            clean, leaking = ([one[score] for one in _of(records[tool], population, kind)] for kind in KINDS)
            beyond = sum(one < min(clean) if side == "low" else one > max(clean) for one in leaking)
            cells["clean"].append(_range(clean))
            cells["leaking"].append(f"{_range(leaking)}; {beyond} of {len(leaking)}")
        lines += [f"| {title if kind == 'clean' else ''} | {kind} | {' | '.join(cells[kind])} |" for kind in KINDS]
    for kind in KINDS:
        found = [[one["findings"] > 0 for one in _of(records["dpassay"], name, kind)] for name in POPULATIONS]
        title = "**`dpassay risk`, with a finding**" if kind == "clean" else ""
        lines.append(f"| {title} | {kind} | {' | '.join(f'{sum(one)} of {len(one)}' for one in found)} |")
    return "\n".join(lines)


def _of(records: dict[str, dict[str, Any]], population: str, kind: str) -> list[dict[str, Any]]:
    return [one for name, one in records.items() if _parts(name)[::2] == (population, kind)]


def _range(values: list[float]) -> str:
    return f"{min(values):.3f} to {max(values):.3f}"


def main(names: list[str]) -> None:
    """Measure what the file does not have, of the named tools or of all, and write the page."""
    records = json.loads(FILE.read_text()) if FILE.exists() else {}
    every = [f"{population}; {seed}; {kind}" for population in POPULATIONS for seed in SEEDS for kind in KINDS]
    for tool in names or ["dpassay", *TOOLS]:
        known = records.setdefault(tool, {})
        missing = {name: tables(*_parts(name)) for name in every if name not in known}
        for name, found in scores(tool, missing) if missing else ():
            known[name] = found
            FILE.write_text(json.dumps(records, indent=1) + "\n")
    block = re.compile(r"(<!-- scores of tables -->\n).*?(<!-- end -->)", re.DOTALL)
    PAGE.write_text(block.sub(lambda found: f"{found[1]}\n{table(records)}\n\n{found[2]}", PAGE.read_text()))


def _parts(name: str) -> tuple[str, int, str]:
    population, seed, kind = name.split("; ")
    return population, int(seed), kind


if __name__ == "__main__":
    main(sys.argv[1:])
