"""The numbers that README and docs/*.md state, measured again: `make numbers`, or `python docs/measured.py NAME...`.

Each entry has the sentence that states it, word for word, and what computes it. It prints both, and ends with 1 where a
sentence is gone from its page, or off by more than its digits and the noise of this many repeats allow.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from dpassay.attacks.membership.catalogue import catalogue as membership
from dpassay.audit import audit, audit_scores
from dpassay.audit.bounds.base import PairBound
from dpassay.audit.bounds.bits.one_run_fdp import OneRunFDP
from dpassay.audit.bounds.catalogue import build
from dpassay.audit.evidence.scores import BitScores
from dpassay.audit.evidence.statement import Statement
from dpassay.audit.membership.records import models_needed
from dpassay.audit.power import detectable_epsilon
from dpassay.audit.testing.laws import SampledLaw, gaussian, laplace_ratio
from dpassay.audit.trials.plan import plan_trials
from dpassay.experiments.data.datasets import load
from dpassay.experiments.demos.synthesis import deniable_records as deniable_demo
from dpassay.experiments.demos.synthesis.generators.comparison import (
    OnTheCube,
    above_the_chord,
    compared,
    search_spaces,
)
from dpassay.mechanisms import Laplace, PureDP
from dpassay.mechanisms.ensembles import ConfidentGNMax, LNMax
from dpassay.mechanisms.ensembles.aggregators import Aggregator
from dpassay.mechanisms.errors import DataError
from dpassay.mechanisms.guarantees import GaussianDP, LaplaceDP
from dpassay.mechanisms.guarantees.base import Guarantee

DOCS = Path(__file__).parent
README = DOCS.parent / "README.md"
SHOWN = ("joint-exact", "betting", "clopper-pearson", "simultaneous-band")
ONE_RUN = ("one-run", "one-run-fdp")
SEES = ("joint-exact", "simultaneous-band", "accountant-family")


@dataclass(frozen=True)
class Number:
    """What a page says.

    Args:
        name: for the command line.
        page: where.
        sentence: the words, with the numbers in braces: "{0.842} of 1".
        measure: gives as many numbers, in that order.
        within: by how much each may be off.
        seconds: about how long it takes.
    """

    name: str
    page: Path
    sentence: str
    measure: Callable[[], Sequence[float]]
    within: float
    seconds: int = 1

    @property
    def said(self) -> list[float]:
        return [float(text.replace(",", "")) for text in re.findall(r"{([^}]*)}", self.sentence)]

    @property
    def is_on_its_page(self) -> bool:
        words = re.sub(r"[{}]", "", self.sentence)
        return " ".join(words.split()) in " ".join(self.page.read_text().split())


def mean_bounds(
    names: Sequence[str], law: SampledLaw, trials: int, delta: float, claim: Guarantee, repeats: int = 100
) -> list[float]:
    """Mean bound at 95 % of audits with `trials` a side, cut as an audit cuts them."""
    return [_mean_bound(build(name), law, trials, Statement(claim, delta), repeats) for name in names]


def _mean_bound(bound: PairBound, law: SampledLaw, trials: int, statement: Statement, repeats: int) -> float:
    plan = plan_trials(trials, bytes_per_run=8, learns=False, chooses=bound.needs_pilot, vectorised=True)
    pilots, counted = (law.draws(np.random.default_rng(s), n, n) for s, n in ((1, plan.pilot), (2, plan.evaluation)))
    shown = []
    for _ in range(repeats):
        fixed = bound.fix(statement, next(pilots), (plan.evaluation, plan.evaluation))
        shown.append(fixed.lower_bound(next(counted)).epsilon)
    return float(np.mean(shown))


def laplace_row(trials: int, repeats: int) -> list[float]:
    """Of the table of what bounds show."""
    return mean_bounds(SHOWN, laplace_ratio(1.0), trials, 0.0, LaplaceDP(1.0), repeats)


def mu_of(epsilon: float) -> float:
    """Of the Gaussian pair with this epsilon at delta = 1e-5."""
    return float(brentq(lambda mu: GaussianDP(mu).epsilon(1e-5) - epsilon, 0.1, 10.0))


def gaussian_means(name: str) -> list[float]:
    """With 1,000 and 5,000 trials a side, where epsilon is 8 at delta = 1e-5."""
    mu = mu_of(8.0)
    return [mean_bounds([name], gaussian(mu), trials, 1e-5, GaussianDP(mu), 40)[0] for trials in (1_000, 5_000)]


def detected(claim: Guarantee, delta: float) -> list[float]:
    """What 1,000 evaluation trials a side detect."""
    stated = Statement(claim, delta)
    return [detectable_epsilon([build(name)], stated, n_out=1_000, n_in=1_000).epsilon for name in SEES]


def runs_until_refuted(confidence: float) -> float:
    """Median over seeds of the counted runs a side until a claim of 1 falls, where the truth is 2."""
    options = {"claim": PureDP(1.0), "stop": "anytime", "trials": 20_000, "confidence": confidence}
    audits = (audit(Laplace(epsilon=2.0), seed=seed, **options) for seed in range(40))
    return float(np.median([result.trials.evaluation for result in audits]))


def gain_of_the_family(mu: float, n_canaries: int) -> float:
    """Mean bound of "one-run-fdp" over that of "one-run", where a canary moves its score by mu."""
    shown = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        bits = rng.random((1, n_canaries)) < 0.5
        scores = BitScores(bits, rng.normal(size=bits.shape) + mu * bits)
        audits = (audit_scores(scores, bound=name, claim=GaussianDP(mu), delta=1e-5) for name in ONE_RUN)
        shown.append([result.bound.epsilon for result in audits])
    without, with_family = np.mean(shown, axis=0)
    return float(with_family / without)


def most_of_one_run(epsilon: float, n_canaries: int) -> float:
    """The ceiling of "one-run-fdp" at 95 % with "one-run" next to it, for a Gaussian claim at delta = 1e-5."""
    stated, bits = Statement(GaussianDP(mu_of(epsilon)), 1e-5, 0.975), np.ones((1, n_canaries))
    return OneRunFDP().fix(stated, None, (n_canaries,)).lower_bound(BitScores(bits, bits)).ceiling


def deniable_records() -> list[float]:
    """Two rows of the demo of that name on Adult, in per cent: marginals, and omega 10."""
    with contextlib.redirect_stdout(io.StringIO()):
        rows = deniable_demo.main().utility
    return [100.0 * value for name in ("marginals", "omega 10") for value in rows[name]]


def has_adult() -> bool:
    """Whether the census of 1994 is at hand."""
    try:
        load("adult")
    except DataError:
        return False
    return True


def rate_at_a_thousandth() -> list[float]:
    """TPR at 0.1 % FPR with 100 non-members, N(2, 1) against N(0, 1): read off, and the truth."""
    rng = np.random.default_rng(0)
    thresholds = rng.normal(size=(4_000, 100)).max(axis=1)
    return [float(norm.sf(thresholds - 2.0).mean()), float(norm.sf(norm.isf(0.001) - 2.0))]


def row_of_votes(name: str, aggregator: Aggregator) -> list[float]:
    """A row of the table of teachers: answered, two epsilons, and shares that are right in per cent."""
    from dpassay.experiments.demos.votes_of_teachers import row, votes_on

    found = row(votes_on(name, n_teachers=250, n_queries=aggregator.n_queries), aggregator)
    shares = (found.right, found.student, found.baseline)
    return [found.answered, found.for_all_votes, found.on_these_votes, *(100.0 * share for share in shares)]


def row_of_students(name: str, aggregator: Aggregator) -> list[float]:
    """A row of the table of students: means and standard deviations of five runs, in per cent."""
    from dpassay.experiments.demos import students_of_votes, votes_of_teachers

    votes = votes_of_teachers.votes_on(name, n_teachers=250, n_queries=aggregator.n_queries)
    found = 100.0 * students_of_votes.accuracies(votes, aggregator)
    return np.stack([found.mean(axis=1), found.std(axis=1, ddof=1)], axis=1).ravel().tolist()


def generator_row(name: str) -> list[float]:
    """Distance and misfit of a generator on eight cells, and its excess where it fits distributions only."""
    found = OnTheCube.of(compared()[name])
    return [found.distance, found.spurious, found.excess]


def chord_percent(name: str) -> list[float]:
    """How often, in percent, the loss lies above a chord in what this generator searches."""
    return [100.0 * above_the_chord(search_spaces()[name])]


GENERATOR_ROWS = {
    "direct": "| direct | {0.000} | {1.000} | {0.000} |",
    "graphical model": "| graphical model | {0.000} | {1.000} | {0.000} |",
    "relaxed table (softmax)": "| relaxed table (softmax) | {0.000} | {1.000} | {0.008} |",
    "generator network": "| generator network | {0.002} | {1.000} | {0.013} |",
    "local consistency": "| local consistency | {0.000} | **{0.000}** | {0.000} |",
    "gradual update": "| gradual update | {0.000} | {1.000} | {0.000} |",
}
CHORDS = {
    "relaxed table (softmax)": "| relaxed table (softmax) | 0.000 | 1.000 | 0.008 | {22} % |",
    "relaxed table (clipped)": "| relaxed table (clipped) | 0.000 | **0.000** | | {3} % |",
    "generator network": "| generator network | 0.002 | 1.000 | 0.013 | {24} % |",
}

VOTE_ROWS: dict[str, tuple[Aggregator, str]] = {
    "mnist-lnmax": (LNMax(0.05, n_queries=1000), "| {1,000} | {20.17} | {5.83} | {88.4} % | {88.1} % | {97.3} % |"),
    "mnist-confident": (
        ConfidentGNMax(200.0, 150.0, 40.0, n_queries=640),
        "Confident (200, 150, 40), 640 queries | {341} | {3.46} | {1.55} | {93.3} % | {82.1} % | {97.3} % |",
    ),
    "adult-lnmax": (
        LNMax(0.05, n_classes=2, n_queries=500),
        "LNMax, rate 0.05 | {500} | {13.23} | {3.71} | {83.8} % | {83.9} % | {87.1} % |",
    ),
    "adult-confident": (
        ConfidentGNMax(300.0, 200.0, 40.0, n_classes=2, n_queries=1500),
        "Confident (300, 200, 40), 1,500 queries | {504} | {4.25} | {1.95} | {89.1} % | {84.3} % | {87.1} % |",
    ),
}
STUDENT_ROWS = {
    "mnist-confident": "640 queries | {91.5} ± {1.1} % | {81.9} ± {1.8} % | {96.3} ± {0.1} % |",
    "adult-lnmax": "rate 0.05, 500 queries | {83.7} ± {0.6} % | {83.4} ± {0.1} % | {82.4} ± {0.2} % |",
    "adult-confident": "1,500 queries | {85.9} ± {2.0} % | {83.1} ± {0.9} % | {81.5} ± {0.5} % |",
}
DENIABILITY = DOCS / "plausible-deniability.md"
BOUNDS, MEMBERSHIP, LEARNING = DOCS / "bounds.md", DOCS / "membership.md", DOCS / "learning.md"
ON_ADULT = (
    Number(
        "deniable-records",
        DENIABILITY,
        """| marginals | {76.5} | {77.3} | {77.0} | {85.9} | {82.0} | {100.0} |
        | omega 11 | 79.6 | 80.7 | 80.5 | 68.3 | 63.0 | 100.0 |
        | omega 10 | {79.0} | {80.8} | {80.2} | {69.4} | {63.8} | {100.0} |""",
        deniable_records,
        2.0,
        12,
    ),
)
"""What is measured on the census of 1994, and left out without it."""
NUMBERS = (
    Number("attacks", README, "(LiRA, RMIA and {13} others)", lambda: [len(membership.entries) - 2], 0),
    Number(
        "family-of-one-run",
        BOUNDS,
        "about {1.3} to {1.8} times as much",
        lambda: [gain_of_the_family(1.0, 5_000), gain_of_the_family(3.0, 1_000)],
        0.06,
        10,
    ),
    Number(
        "laplace-1000",
        BOUNDS,
        "| 1,000 | {0.842} | {0.788} | {0.772} | {0.744} |",
        lambda: laplace_row(1_000, 400),
        0.012,
        60,
    ),
    Number(
        "laplace-10000",
        BOUNDS,
        "| 10,000 | {0.956} | {0.932} | {0.933} | {0.910} |",
        lambda: laplace_row(10_000, 100),
        0.006,
        60,
    ),
    Number(
        "gaussian-family",
        BOUNDS,
        "`accountant-family` shows {7.33} with 1,000 trials a side and {7.65} with 5,000",
        lambda: gaussian_means("accountant-family"),
        0.08,
        20,
    ),
    Number(
        "gaussian-event",
        BOUNDS,
        "`joint-exact`, shows {2.4} and {3.1}",
        lambda: gaussian_means("joint-exact"),
        0.2,
        20,
    ),
    Number(
        "power-pure",
        BOUNDS,
        "| `PureDP(1)` | 0 | {1.22} | {1.37} | {1.21} |",
        lambda: detected(PureDP(1.0), 0.0),
        0.006,
        10,
    ),
    Number(
        "power-laplace",
        BOUNDS,
        "| `LaplaceDP(1)` | 0 | {1.30} | {1.52} | {1.29} |",
        lambda: detected(LaplaceDP(1.0), 0.0),
        0.006,
        10,
    ),
    Number(
        "power-gaussian",
        BOUNDS,
        "| `GaussianDP(1)`, epsilon {4.38} | 1e-5 | {7.07} | {6.61} | {5.61} |",
        lambda: [GaussianDP(1.0).epsilon(1e-5), *detected(GaussianDP(1.0), 1e-5)],
        0.006,
        10,
    ),
    Number(
        "early",
        BOUNDS,
        "is refuted after about {100} runs a side at 95 % confidence, and after about {350} at",
        lambda: [runs_until_refuted(0.95), runs_until_refuted(1.0 - 1e-6)],
        50,
        60,
    ),
    Number(
        "resolvable",
        MEMBERSHIP,
        "is {0.32} on average for two normal laws two standard deviations apart, where the truth is {0.14}",
        rate_at_a_thousandth,
        0.006,
    ),
    Number("models", MEMBERSHIP, "That takes models: {22} for these 600 records", lambda: [models_needed(600)], 0),
    Number(
        "one-run",
        LEARNING,
        "of a claim of 10, two thousand canaries show at most {8.8}",
        lambda: [most_of_one_run(10.0, 2_000)],
        0.06,
    ),
    *(
        Number(f"pate-{name}", DOCS / "pate.md", row, partial(row_of_votes, name.split("-")[0], by), 0.06, 60)
        for name, (by, row) in VOTE_ROWS.items()
    ),
    *(
        Number(
            f"students-{name}",
            DOCS / "pate.md",
            row,
            partial(row_of_students, name.split("-")[0], VOTE_ROWS[name][0]),
            0.06,
            60,
        )
        for name, row in STUDENT_ROWS.items()
    ),
    *(
        Number(f"generator-{name.split(' ')[0]}", DOCS / "generators.md", row, partial(generator_row, name), 0.0006, 2)
        for name, row in GENERATOR_ROWS.items()
    ),
    *(
        Number(f"chord-{name.split()[-1].strip('()')}", DOCS / "generators.md", row, partial(chord_percent, name), 0.6)
        for name, row in CHORDS.items()
    ),
    *(ON_ADULT if has_adult() else ()),
)
"""The rest is computed where it stands: snippets print what they say, and the tests run them."""


def check(number: Number) -> bool:
    """Whether the page says what is measured; prints both. Without a dataset that it needs, it says so."""
    try:
        found = [float(value) for value in number.measure()]
    except DataError as error:
        sys.stdout.write(f"left out  {number.page.name}: {number.sentence}  {error}\n")
        return number.is_on_its_page
    close = np.allclose(found, number.said, rtol=0.0, atol=number.within)
    right = number.is_on_its_page and bool(close)
    measured = ", ".join(f"{value:.4g}" for value in found)
    sys.stdout.write(f"{'ok ' if right else 'OFF'}  {number.page.name}: {number.sentence}  measured: {measured}\n")
    return right


def main(names: Sequence[str]) -> int:
    """Measures the numbers of these names, or all; 1 if one is off."""
    known = {number.name: number for number in NUMBERS}
    unknown = sorted(set(names) - set(known))
    if unknown:
        sys.stderr.write(f"unknown: {', '.join(unknown)}. Known: {', '.join(known)}\n")
        return 2
    right = [check(known[name]) for name in names or known]
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
