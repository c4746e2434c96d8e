"""Numbers of users that each trust model needs to learn or test a distribution: docs/results/sample-complexity.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.special import ndtri
from stated import DOCS, Number

from dpassay.mechanisms.literature.shuffle import FrequencyLearner, UniformityTest, learning_samples, uniformity_samples

Settings = dict[str, Any]
STEPS = 10
"""Updates of n; each leaves at most a third of its error on the logarithm."""
LATER, RUNS = 12, 300
"""Steps of a search by error rates, and runs of each of them on either side."""
LEARNING: dict[str, Settings] = {
    "non-private": {},
    "central": {"epsilon": 0.02},
    "shuffle": {"epsilon": 0.2, "delta": 1e-6},
    "local": {"epsilon": 1.0},
}
TESTING: dict[str, Settings] = {
    "non-private": {},
    "central": {"epsilon": 0.1},
    "shuffle": {"epsilon": 0.2, "delta": 1e-6, "coins": "private"},
    "local": {"epsilon": 1.0, "coins": "private"},
    "local, public": {"epsilon": 1.0, "coins": "public"},
}


def users_to_learn(k: int, alpha: float, *, model: str, **options: Any) -> float:
    """Return the number of users at which the mean distance in total variation is alpha."""

    def relative(n: int) -> float:
        return FrequencyLearner(k, n, model=model, **options).mean_error(20, np.random.default_rng(0)) / alpha

    return _solved(relative, start=1_000.0)


def users_to_test(k: int, alpha: float, *, model: str, **options: Any) -> float:
    """Return the number of users at which the larger of the two error rates is 1/3, by runs of the test itself.

    The normal quantile of the error rate falls like a power of n. Each step moves n to where it is that of 1/3; the
    later ones move it by shares of the way, which averages their noise: `LATER` steps with `RUNS` fresh runs a side.
    """
    rng, n = np.random.default_rng(0), 300.0
    for step in range(-STEPS, LATER):
        runs = RUNS if step >= 0 else 100
        error = max(errors_around(n, runs, rng, k=k, alpha=alpha, model=model, **options))
        quantile = max(float(-ndtri(np.clip(error, 0.5 / runs, 1.0))), 0.05)
        n *= min(max(float(-ndtri(1 / 3)) / quantile, 0.1), 10.0) ** (1 / (1.25 * max(1, step)))
        n = max(n, 25.0)
    return n


def users_by_deviations(k: int, alpha: float, *, model: str, **options: Any) -> float:
    """Return the number of users at which both error rates would be 1/3 if the statistics were normal.

    From 100 runs on each side. The rates of the test itself differ (`users_to_test`), by a factor of n that depends on
    the model: this number is for slopes.
    """

    def relative(n: int) -> float:
        test, rng = UniformityTest(k, n, alpha=alpha, model=model, **options), np.random.default_rng(0)
        uniform = [test.statistic(rng.integers(k, size=n), rng) for _ in range(100)]
        other = [test.statistic(rng.choice(k, n, p=rng.permutation(test.hardest)), rng) for _ in range(100)]
        distance = float(np.mean(other) - np.mean(uniform))
        return -2.0 * ndtri(1 / 3) * 0.5 * (np.std(uniform) + np.std(other)) / max(distance, 1e-12)

    return _solved(relative, start=300.0)


def errors_around(n: float, runs: int, rng: np.random.Generator, **options: Any) -> list[float]:
    """Return both error rates, on average over four sizes within 3 percent of n.

    The statistic of a few users has few values, so that both rates jump from one size to the next.
    """
    tests = [UniformityTest(n_users=round(n * factor), **options) for factor in (0.97, 0.99, 1.01, 1.03)]
    rates = np.mean([test.error_rates(runs // 4, rng) for test in tests], axis=0)
    return [float(rate) for rate in rates]


def _solved(relative: Callable[[int], float], start: float) -> float:
    """Return n with `relative(n)` = 1; it falls like a power of n between -1/2 and -1."""
    n = start
    for _ in range(STEPS):
        n *= min(max(relative(round(n)), 0.05), 20.0) ** (1 / 1.25)
        n = max(n, 24.0)
    return n


def slopes(
    needed: Callable[..., float],
    rate: Callable[..., float],
    model: str,
    base: Settings,
    sweeps: dict[str, Sequence[Any]],
) -> list[float]:
    """Return the slopes of the rate and of the measured number of users, in logarithms, in each of the parameters."""
    found = []
    for name, values in sweeps.items():
        settings = [base | {name: value} for value in values]
        rows = [
            [
                function(s["k"], s["alpha"], model=model, **{o: v for o, v in s.items() if o not in ("k", "alpha")})
                for s in settings
            ]
            for function in (rate, needed)
        ]
        found += [float(np.polyfit(np.log(values), np.log(row), 1)[0]) for row in rows]
    return found


def learning_row(model: str) -> list[float]:
    """Return the number of users to learn 16 values up to 0.2, and the slopes of the rate and as measured."""
    options = LEARNING[model]
    base = {"k": 16, "alpha": 0.2, **options}
    sweeps = {"k": (8, 16, 32), "alpha": (0.1, 0.2, 0.4)} | _around(options)
    needed = users_to_learn(16, 0.2, model=model, **options)
    return [round(needed), *slopes(users_to_learn, learning_samples, model, base, sweeps)]


def testing_row(name: str) -> list[float]:
    """Return the number of users to test uniformity at distance 1/4, and the slopes of the rate and as measured."""
    model, options = name.split(",")[0], TESTING[name]
    k = 16 if model in ("local", "shuffle") else 256
    base = {"k": k, "alpha": 0.25, **options}
    sweeps = {"k": (k // 4, k, 4 * k), "alpha": (0.125, 0.25, 0.5)} | _around(options)
    needed = users_to_test(k, 0.25, model=model, **options)
    return [round(needed), *slopes(users_by_deviations, uniformity_samples, model, base, sweeps)]


def _around(options: Settings) -> dict[str, Sequence[Any]]:
    """Return a sweep of epsilon, from half to twice its value; empty without epsilon."""
    return {"epsilon": [options["epsilon"] * factor for factor in (0.5, 1.0, 2.0)]} if options else {}


PAGE = DOCS / "results" / "sample-complexity.md"
ROWS = {
    ("learning", "non-private"): ("| non-private | {58} | 1 / {1.00} / {1.10} | -2 / {-2.00} / {-1.70} | |", 1),
    ("learning", "central"): (
        "| central | {4,131} | 1 / {1.00} / {1.00} | -1 / {-1.10} / {-1.01} | -1 / {-0.90} / {-1.11} |",
        1,
    ),
    ("learning", "shuffle"): (
        "| shuffle | {1,722} | 1 / {1.00} / {1.17} | -1 / {-1.22} / {-1.11} | -1 / {-0.78} / {-0.89} |",
        4,
    ),
    ("learning", "local"): (
        "| local | {3,233} | 2 / {1.91} / {2.11} | -2 / {-2.00} / {-2.01} | -2 / {-1.89} / {-2.15} |",
        4,
    ),
    ("testing", "non-private"): ("| non-private | {97} | 1/2 / {0.50} / {0.46} | -2 / {-2.00} / {-1.82} | |", 1),
    ("testing", "central"): (
        "| central | {227} | 0 / {0.42} / {0.36} | -1 / {-1.47} / {-1.35} | -1 / {-0.39} / {-0.60} |",
        1,
    ),
    ("testing", "shuffle"): (
        "| shuffle, private | {1,312} | 3/4 / {0.73} / {0.82} | -1 / {-1.10} / {-0.96} | -1 / {-0.90} / {-0.65} |",
        9,
    ),
    ("testing", "local"): (
        "| local, private | {1,757} | 3/2 / {1.40} / {1.51} | -2 / {-2.00} / {-2.09} | -2 / {-1.89} / {-2.29} |",
        19,
    ),
    ("testing", "local, public"): (
        "| local, public | {2,591} | 1 / {0.89} / {1.16} | -2 / {-2.00} / {-1.94} | -2 / {-1.20} / {-1.58} |",
        9,
    ),
}
"""Row of the page, with the slope of the largest term of the rate first, and seconds."""
NUMBERS = tuple(
    Number(
        f"{task}-{name.replace(', ', '-')}",
        PAGE,
        sentence,
        partial(learning_row if task == "learning" else testing_row, name),
        0.0051,
        seconds,
    )
    for (task, name), (sentence, seconds) in ROWS.items()
)
