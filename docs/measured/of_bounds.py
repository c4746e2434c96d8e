"""What bounds show and detect: docs/explanation/bounds.md, audits-audited.md there, and docs/reference/learning.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, log_expit
from scipy.stats import laplace, norm
from stated import DOCS, Number

from dpassay.audit import audit, audit_scores
from dpassay.audit.bounds.base import Bound, PairBound
from dpassay.audit.bounds.bits.independent import OneRunIndependent
from dpassay.audit.bounds.bits.one_run_fdp import OneRunFDP
from dpassay.audit.bounds.catalogue import build
from dpassay.audit.calibration.certificate import CertificatePlan, CertificateSetting, certify
from dpassay.audit.calibration.laws import SampledLaw, gaussian, laplace_ratio, no_leak
from dpassay.audit.calibration.published import published_rules
from dpassay.audit.evidence.scores import BitScores
from dpassay.audit.evidence.statement import Statement
from dpassay.audit.power.power import detectable_epsilon
from dpassay.audit.trials.plan import plan_trials
from dpassay.mechanisms import Laplace, PureDP
from dpassay.mechanisms.accounting import GaussianDP, LaplaceDP
from dpassay.mechanisms.core import Guarantee

AUDITED, BOUNDS = (DOCS / "explanation" / f"{name}.md" for name in ("audits-audited", "bounds"))
LEARNING = DOCS / "reference" / "learning.md"
SHOWN = ("joint-exact", "betting", "clopper-pearson", "simultaneous-band")
ONE_RUN = ("one-run", "one-run-fdp")
SEES = ("joint-exact", "simultaneous-band", "accountant-family")


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


def ideal_canaries(bound: Bound[Any], n_canaries: int, repeats: int) -> float:
    """Mean bound at 95 % on independent Gaussian canaries of epsilon 8; without the refusals."""
    mu = mu_of(8.0)
    fixed = bound.fix(Statement(GaussianDP(mu), 1e-5), None, (n_canaries,))
    fixed = replace(fixed, tested=False) if isinstance(bound, OneRunIndependent) else fixed
    shown = []
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        bits = rng.random(n_canaries) < 0.5
        shown.append(fixed.lower_bound(BitScores(bits, rng.normal(size=n_canaries) + mu * bits)).epsilon)
    return float(np.mean(shown))


def row_of_canaries(n_canaries: int) -> list[float]:
    """Of the table of one run."""
    bounds = (OneRunFDP(negatives=0.5), OneRunFDP(guesses=0.1), OneRunIndependent())
    return [ideal_canaries(bound, n_canaries, 100) for bound in bounds]


def most_of_one_run(epsilon: float, n_canaries: int) -> float:
    """The ceiling of "one-run-fdp" at 95 %, for a Gaussian claim at delta = 1e-5."""
    stated, bits = Statement(GaussianDP(mu_of(epsilon)), 1e-5, 0.95), np.ones((1, n_canaries))
    return OneRunFDP().fix(stated, None, (n_canaries,)).lower_bound(BitScores(bits, bits)).ceiling


def false_alarms(rule: str) -> list[float]:
    """Percent of audits at 95 % in which a rule of published audits reports a leak, with 1,001 and 5,001 canaries."""
    setting = CertificateSetting(no_leak(), (0.0, 1e-5), ((605, 605), (2_722, 2_722)), 2_000, few=0)
    (method,) = (method for method in published_rules() if method.name == rule)
    cells = certify(CertificatePlan("no leak", (setting,), confidences=(0.95,)), [method], seed=1).cells
    return [100.0 * cell.miss_rate for cell in cells]


def most_powerful_refusal(epsilon: float, mu: float, n: int = 1_000, games: int = 4_000) -> float:
    """Percent of games of Laplace noise that the likelihood ratio to GaussianDP(mu) refuses at 2 %, of exact ranks."""
    rng, x = np.random.default_rng(3), np.linspace(-30.0, 30.0, 60_001)
    laws = (norm, 0.0, mu), (laplace, 0.0, epsilon)
    ranks = [0.5 * (law.cdf(x - out) + law.cdf(x - in_)) for law, out, in_ in laws]
    odds = [law.logpdf(x - in_) - law.logpdf(x - out) for law, out, in_ in laws]

    def ratios(side: int) -> Any:
        rank = rng.random((games, n))
        member, other = (np.interp(rank, *pair) for pair in zip(ranks, odds, strict=True))
        bits = rng.random((games, n)) < expit((member, other)[side])
        signs = np.where(bits, 1.0, -1.0)
        return (log_expit(signs * other) - log_expit(signs * member)).sum(axis=1)

    return 100.0 * float(np.mean(ratios(1) > np.quantile(ratios(0), 0.98)))


def row_of_false_alarms(name: str, row: str) -> Number:
    """Of the table of false alarms."""
    return Number(name, AUDITED, row, lambda: false_alarms(row.split(" | ")[0].removeprefix("| ")), 4.0, 60)


NUMBERS = (
    Number(
        "refusal-limit",
        BOUNDS,
        "with probability at most {96} %",
        lambda: [most_powerful_refusal(0.5, 0.42)],
        1.5,
        10,
    ),
    row_of_false_alarms(
        "false-alarms-ten", "| ten numbers of guesses | {13.1} % (11.6 to 14.6) | {11.9} % (10.6 to 13.5) |"
    ),
    row_of_false_alarms(
        "false-alarms-grid", "| grid of guesses in and out | {46.9} % (44.7 to 49.1) | {54.1} % (51.9 to 56.3) |"
    ),
    row_of_false_alarms(
        "false-alarms-200", "| 200 thresholds, guesses in | {30.8} % (28.8 to 32.9) | {36.3} % (34.2 to 38.5) |"
    ),
    row_of_false_alarms(
        "false-alarms-most", "| threshold of most right guesses | {40.3} % (38.1 to 42.5) | {40.8} % (38.7 to 43.0) |"
    ),
    row_of_false_alarms(
        "false-alarms-gaussian",
        "| best threshold, Gaussian curve | {18.8} % (17.1 to 20.5) | {23.2} % (21.4 to 25.2) |",
    ),
    Number(
        "family-of-one-run",
        BOUNDS,
        "about {1.2} to {1.7} times as much",
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
        "| `GaussianDP(1)`, epsilon {4.38} | 1e-5 | {5.92} | {6.62} | {5.62} |",
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
        "ideal-canaries-1000",
        BOUNDS,
        "| 1,000 | {4.3} | {4.5} | {7.2} |",
        lambda: row_of_canaries(1_000),
        0.2,
        120,
    ),
    Number(
        "ideal-canaries-5000",
        BOUNDS,
        "| 5,000 | {4.8} | {5.3} | {7.6} |",
        lambda: row_of_canaries(5_000),
        0.12,
        120,
    ),
    Number(
        "one-run",
        LEARNING,
        "of a claim of 10, two thousand canaries show at most {8.7}",
        lambda: [most_of_one_run(10.0, 2_000)],
        0.06,
    ),
)
