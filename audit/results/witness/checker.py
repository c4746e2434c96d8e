"""Check of a witness file without the rest of dpassay: copy this file, and run it with numpy and scipy only.

    python checker.py witness.json                          the arithmetic, from the counts in the file
    python checker.py witness.json file.py:release          the arithmetic, and the counts of fresh runs of the function
    python checker.py witness.json file.py:release --runs 10000 --seed 7

Counts. An event happened k1 times in n1 runs on the side where it is likelier, and k0 times in n0 on the other. A claim
of (epsilon, delta) states p1 <= e^epsilon p0 + delta. It is refuted at significance s

    by Clopper and Pearson (1934)   if p1 > e^epsilon p0 + delta at the lower limit of p1 and the upper limit of p0,
                                    each wrong with probability s / 2
    by both counts together         if no p0 within limits of significance s / 1000 gives an outcome as extreme as the
                                    observed one with probability above the rest of s, at p1 = e^epsilon p0 + delta:
                                    Barnard's test with the limits of Berger and Boos (1994). Outcomes are ordered by a
                                    lower limit of ln((p1 - delta) / p0), an F quantile. The supremum is over a grid

Witnesses of kind "no randomness" are replayed: each dataset in fresh interpreters, with different seeds.

Limitations: the checker cannot repeat the trials of the file, which needs dpassay, the seed and the same versions; it
cannot count an event that is a score of a learned attack, if the file has no rule for it; it cannot check an output
distribution.
"""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import json
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

RATE_LIMITS_SHARE = 1e-3  # share of the significance for the limits of the joint test
N_RATES = 400  # grid points for the supremum of the joint test
FRESH_SIGNIFICANCE = 0.01  # significance of a count of fresh runs


def print_line(text: object) -> None:
    """Print one line."""
    sys.stdout.write(f"{text}\n")


# --- arithmetic -------------------------------------------------------------------------------------------------------


def limits(k1: int, n1: int, k0: int, n0: int, significance: float) -> tuple[float, float]:
    """Return a lower limit of p1 and an upper limit of p0, valid together at level `significance`."""
    low = float(special.betaincinv(k1, n1 - k1 + 1, significance / 2)) if k1 > 0 else 0.0
    high = float(special.betainccinv(k0 + 1, n0 - k0, significance / 2)) if k0 < n0 else 1.0
    return low, high


def clopper_pearson(k1: int, n1: int, k0: int, n0: int, delta: float, significance: float) -> float:
    """Return the lower bound on epsilon."""
    low, high = limits(k1, n1, k0, n0, significance)
    return max(0.0, math.log((low - delta) / high)) if low > delta and high > 0 else 0.0


def order(k1: Any, n1: int, k0: Any, n0: int, delta: float, significance: float) -> Any:
    """Return the statistic that orders outcomes; -inf for an outcome without evidence."""
    p, q = (k1 + 0.5) / (n1 + 1.0), (k0 + 0.5) / (n0 + 1.0)
    gain = np.maximum(p - delta, 1e-12)
    shape1, shape0 = n1 * gain**2 / (p * (1 - p)), n0 * q / (1 - q)
    share = special.betaincinv(shape1, shape0, min(significance, 0.5))
    with np.errstate(divide="ignore"):
        limit = np.log(share / (1 - share) * shape0 / shape1 * gain / q)
    return np.where((gain > 1e-12) & (limit > 0), limit, -np.inf)


def joint(k1: int, n1: int, k0: int, n0: int, epsilon: float, delta: float, significance: float, tuned: float) -> float:
    """Return the largest probability, under the claim, of an outcome as extreme as this one, on a grid of rates.

    The claim is refuted if it is at most (1 - RATE_LIMITS_SHARE) * significance. `tuned` is the delta of the ordering,
    fixed beforehand.
    """
    level = float(order(np.array([k1]), n1, np.array([k0]), n0, tuned, significance)[0])
    if level == -math.inf:
        return 1.0
    p_low, q_high = limits(k1, n1, k0, n0, RATE_LIMITS_SHARE * significance)
    growth = math.exp(-epsilon)
    first, last = max((p_low - delta) * growth, 0.0), min(q_high, (1 - delta) * growth)
    if first > last:
        return 0.0
    reach = 9.0 * math.sqrt(n0 * max(last, 1.0 / n0)) + 9.0
    counts0 = np.arange(max(0, math.floor(n0 * first - reach)), min(n0, math.ceil(n0 * last + reach)) + 1)
    needed = least_count(level, n1, counts0, n0, tuned, significance)
    largest = 0.0
    for q in np.linspace(first, last, N_RATES):
        p = min(1.0, delta + q / growth)
        clipped = np.clip(needed, 1, n1)  # no hits never reach the F quantile of the ordering
        tail = np.where(needed > n1, 0.0, special.betainc(clipped, n1 - clipped + 1, p))
        largest = max(largest, float(np.sum(mass(counts0, n0, q) * tail)))
    return largest


def mass(counts: Any, n: int, rate: float) -> Any:
    """Return binomial probabilities."""
    log_binomial = special.gammaln(n + 1) - special.gammaln(counts + 1) - special.gammaln(n - counts + 1)
    return np.exp(log_binomial + special.xlogy(counts, rate) + special.xlog1py(n - counts, -rate))


def least_count(level: float, n1: int, counts0: Any, n0: int, delta: float, significance: float) -> Any:
    """Return for each count on the other side the least k1 whose outcome reaches `level`; n1 + 1 if none does."""
    low, high = np.full(len(counts0), -1), np.full(len(counts0), n1 + 1)
    while np.any(high - low > 1):
        middle = (low + high) // 2
        inside = np.clip(middle, 0, n1)
        enough = order(inside, n1, counts0, n0, delta, significance) >= level * (1 - 1e-10)
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high


def check_counts(counts: Any) -> bool:
    """Return whether the counts refute the claim that the file states as refuted."""
    k1, n1 = counts["likelier"]
    k0, n0 = counts["other"]
    epsilon, delta = counts["refuted"]["epsilon"], counts["refuted"]["delta"]
    significance = counts["significance"] / counts["directions"]
    print_line(f"event        {counts['event']}")
    print_line(f"likelier     {k1:,} of {n1:,} runs = {k1 / n1:.6g}   (side {counts['likelier_side']})")
    print_line(f"other side   {k0:,} of {n0:,} runs = {k0 / n0:.6g}")
    print_line(f"claimed      epsilon {epsilon:.6g} at delta {delta:g}; significance {significance:.3g}")
    separate = clopper_pearson(k1, n1, k0, n0, delta, significance)
    print_line(f"separate     epsilon >= {separate:.6g} by Clopper and Pearson")
    together = joint(k1, n1, k0, n0, epsilon, delta, significance, counts["ordering_delta"])
    allowed = (1 - RATE_LIMITS_SHARE) * significance
    print_line(
        f"together     probability under the claim at most {together:.3g}; the claim is refuted up to {allowed:.3g}"
    )
    refuted = {"clopper-pearson": separate > epsilon, "joint-exact": together <= allowed}
    method = counts["method"]
    if method not in refuted:
        print_line(f"             the method of the file, {method}, is not computed by the checker")
    return bool(refuted.get(method, separate > epsilon or together <= allowed))


# --- running again ----------------------------------------------------------------------------------------------------


def load(target: str) -> Any:
    """Return the function that "file.py:name" names."""
    place, _, name = target.rpartition(":")
    spec = importlib.util.spec_from_file_location("checked", place)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{place} cannot be read as Python")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


def dataset(text: str) -> Any:
    """Return a dataset; lists of numbers become arrays."""
    value = json.loads(text)
    if not isinstance(value, list):
        return value
    try:
        array = np.asarray(value)
    except ValueError:
        return value
    return array if array.dtype.kind in "biuf" else value


def outcomes(function: Any, data: Any, n: int, rng: Any) -> Iterator[Any]:
    """Yield the results of `n` runs, one call each."""
    parameters = list(inspect.signature(function).parameters)
    many = len(parameters) > 1 and parameters[1] == "size"
    for _ in range(n):
        try:
            if many:
                yield np.asarray(function(data, 1, rng))[0]
            else:
                yield function(data, rng) if len(parameters) > 1 else function(data)
        except Exception as error:
            text = str(error)
            yield f"raised {type(error).__name__}" + (f": {text}" if text else "")


def outcome_label(result: Any) -> str:
    """Return the name of an exceptional outcome; empty for numbers."""
    if isinstance(result, str):
        return result if result.startswith("raised ") else f"text {result!r}"
    if result is None:
        return "None"
    array = np.asarray(result)
    if array.ndim == 0 and array.dtype.kind in "fiub":
        value = float(array)
        return "" if math.isfinite(value) else str(value)
    return ""


def happened(rule: Any, result: Any) -> bool:
    """Return whether the outcome is in the event."""
    name = outcome_label(result)
    if name:
        return name in rule["labels"]
    values = [float(value) for value in np.asarray(result).reshape(-1)]
    if len(values) == 1 and rule["intervals"] is not None:
        return any(low <= values[0] <= high for low, high in rule["intervals"])
    return rule["atoms"] is not None and values in rule["atoms"]


def recount_event(counts: Any, datasets: Any, function: Any, runs: int, seed: int) -> bool | None:
    """Count the event in fresh runs; return whether they refute the claim, None if the event cannot be counted."""
    rule = counts["rule"]
    if rule is None or datasets is None:
        print_line("fresh runs   none: the file has " + ("no rule for the event" if rule is None else "no datasets"))
        return None
    rule = rule | {"intervals": rule["intervals"] and [[float(a), float(b)] for a, b in rule["intervals"]]}
    side = counts["likelier_side"]
    hits = []
    for place in (side, 1 - side):
        rng = np.random.default_rng([seed, place])
        n = sum(happened(rule, result) for result in outcomes(function, dataset(datasets[place]), runs, rng))
        hits.append(runs - n if counts["complement"] else n)
    epsilon, delta = counts["refuted"]["epsilon"], counts["refuted"]["delta"]
    bound = clopper_pearson(hits[0], runs, hits[1], runs, delta, FRESH_SIGNIFICANCE)
    print_line(f"fresh runs   {hits[0]:,} and {hits[1]:,} of {runs:,} runs a side: epsilon >= {bound:.6g} at 99 %")
    return bool(bound > epsilon)


def replay(datasets: Any, target: str) -> bool:
    """Return whether each side gives one output in fresh interpreters for all seeds, and the sides differ."""
    outputs = []
    for side in (0, 1):
        of_side = set()
        for seed in (11, 12):
            command = [sys.executable, __file__, "-", target, "--once", datasets[side], "--seed", str(seed)]
            of_side.add(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
        outputs.append(of_side)
    for side in (0, 1):
        print_line(f"side {side}       {' and '.join(sorted(outputs[side]))}")
    return all(len(of_side) == 1 for of_side in outputs) and outputs[0] != outputs[1]


def print_one_run(target: str, text: str, seed: int) -> None:
    """Print the output of one run."""
    np.random.seed(seed)  # noqa: NPY002
    result = next(outcomes(load(target), dataset(text), 1, np.random.default_rng(seed)))
    print_line(outcome_label(result) or [float(value) for value in np.asarray(result).reshape(-1)])


def check(content: Any, target: str | None, runs: int, seed: int) -> bool:
    """Return whether every part of the file that can be checked agrees."""
    print_line(f"mechanism    {content['mechanism']}, relation {content['relation']}, claim {content['claim']['name']}")
    datasets = content["datasets"]
    verdicts: list[bool | None] = []
    for witness in content["witnesses"]:
        print_line(f"witness      {witness['kind']}: {witness['what']}")
        print_line(f"contradicts  {witness['contradicts']}")
        for text in witness["assumptions"]:
            print_line(f"assumes      {text}")
        if witness["kind"] == "no randomness" and target and datasets:
            verdicts.append(replay(datasets, target))
    if content["counts"] is not None:
        verdicts.append(check_counts(content["counts"]))
        if target:
            verdicts.append(recount_event(content["counts"], datasets, load(target), runs, seed))
    known = [verdict for verdict in verdicts if verdict is not None]
    print_line("result       " + ("nothing to check" if not known else "agrees" if all(known) else "DOES NOT AGREE"))
    return bool(known) and all(known)


def main() -> int:
    """Check a file from the command line; return exit code 0 if all checks agree, else 1."""
    parser = argparse.ArgumentParser(description="Check a witness file of dpassay with numpy and scipy only.")
    parser.add_argument("witness", help="the JSON file")
    parser.add_argument("target", nargs="?", help="file.py:function, for fresh runs")
    parser.add_argument("--runs", type=int, default=5_000, help="fresh runs a side (default 5000)")
    parser.add_argument("--seed", type=int, default=1, help="of the fresh runs (default 1)")
    parser.add_argument("--once", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.once is not None:
        print_one_run(arguments.target, arguments.once, arguments.seed)
        return 0
    content = json.loads(Path(arguments.witness).read_text(encoding="utf-8"))
    if content.get("format") != "dpassay.witness":
        parser.error(f"{arguments.witness} is not a witness file of dpassay")
    return 0 if check(content, arguments.target, arguments.runs, arguments.seed) else 1


if __name__ == "__main__":
    sys.exit(main())
