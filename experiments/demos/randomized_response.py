# %% [markdown]
# # Have you ever dodged your taxes?
#
# A survey asks a sensitive question, and protects the respondents by randomised answers. This demo shows what an
# observer learns from an answer, what the survey learns about the population, how much privacy it provides, and how a
# black-box audit measures it.
#
# Run the cells from top to bottom, or the whole demo with `dpassay demo randomized-response`.
#
# Names and symbols: `epsilon` ε, `lying_probability` r, `share` μ (of people who dodge), `n_people` N.

# %%
"""Randomised response: the survey of Warner (1965), from Bayesian beliefs to an audit with lower bounds near ln 3."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from ...audit import AuditResult, audit
from ...mechanisms import RandomizedResponse
from ...mechanisms.broken.local import BiasedCoinResponse
from ..report.plots.style import (
    AMBER,
    BLUE,
    BOUND,
    CLAIM,
    MUTED,
    VIOLATION,
    EndLabel,
    end_labels,
    logarithmic,
    style_axes,
    write,
)
from .demo import Demo

SEED = 1965
CONFIDENCE = 0.999
"""Confidence of each of eight bounds, high enough that all of them hold in a demo with high probability."""
SURVEY = RandomizedResponse.two_coin()
LOG_3 = math.log(3.0)

# %% [markdown]
# ## 1. Two coins
#
# Toss a coin. Heads: tell the truth. Tails: toss again, and say yes on heads, no on tails. The protocol is two lines of
# numpy, for any number of people.


# %%
def two_coins(dodges: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return one answer for each person, True = yes, with the shape of `dodges`."""
    first, second = rng.integers(0, 2, size=(2, *dodges.shape), dtype=np.int8).astype(np.bool_)
    return np.where(first, dodges, second)


def the_protocol(demo: Demo) -> dict[bool, float]:
    """Return the probabilities of yes among people who dodge, and among people who do not."""
    rng = np.random.default_rng([SEED, 1])
    yes = {dodges: float(two_coins(np.full(1_000_000, dodges), rng).mean()) for dodges in (True, False)}
    demo.chapter("1. Two coins")
    demo.say(
        """
        "Have you ever dodged your taxes?" Before you answer, toss a coin in secret. Heads: tell the truth. Tails: toss
        it again, and say yes on heads, no on tails.

        A yes may come from the coin, so every answer is deniable. We ask a million people of each kind:
        """
    )
    demo.table(
        ["person", "share of yes", "in theory"],
        [["dodges", f"{yes[True]:.4f}", "3/4"], ["does not", f"{yes[False]:.4f}", "1/4"]],
    )
    return yes


# %% [markdown]
# ## 2. The investigator
#
# Tammy the tax investigator believes that Bob dodges with probability 0.02. Bob says yes. Bayes' rule:
#
#     Pr[dodges | yes] = 0.02 · 3/4 / (0.02 · 3/4 + 0.98 · 1/4) = 3/52 ≈ 0.058
#
# In terms of odds: the answer multiplies the odds by 3/4 : 1/4 = 3, or divides them by 3.


# %%
def the_investigator(demo: Demo) -> float:
    """Show posterior beliefs for several priors, and return the posterior of the example."""
    demo.chapter("2. What the investigator learns")
    posterior = SURVEY.posterior(prior=0.02, answer=1)
    demo.say(
        f"""
        Tammy, the tax investigator, believes that Bob dodges with probability 0.02. Then she observes his answer: yes.
        By Bayes' rule, her posterior probability is

          0.02 * 3/4 / (0.02 * 3/4 + 0.98 * 1/4) = 3/52 = {posterior:.6f}

        It increases from 2 % to slightly less than 6 %. For every prior, an answer multiplies or divides the odds by
        three:
        """
    )
    rows = []
    for prior in (0.001, 0.02, 0.1, 0.5, 0.9):
        no, yes = (SURVEY.posterior(prior=prior, answer=answer) for answer in (0, 1))
        rows.append([f"{prior:g}", f"{no:.4f}", f"{yes:.4f}", f"{prior / (1 - prior):.4g}", f"{yes / (1 - yes):.4g}"])
    demo.table(["prior", "after no", "after yes", "prior odds", "odds after yes"], rows)
    demo.say(
        """
        This factor measures the privacy of the survey. In differential privacy it is e^epsilon: here epsilon = ln 3 =
        1.0986, a guarantee for each person that requires no trust in the data collector (local privacy).
        """
    )
    return posterior


# %% [markdown]
# ## 3. The statistician
#
# Noise that protects each person averages out over all of them. With a share μ of dodgers, yes has probability
# 1/4 + μ/2, so that
#
#     estimate = 2 · mean(answers) - 1/2,        N · variance = 3/4 + μ (1 - μ)
#
# where truthful answers would give N · variance = μ (1 - μ). We check the formula in 20,000 simulated surveys.


# %%
@dataclass(frozen=True)
class Spread:
    """Variance of the estimate times N: by the formula, in simulated surveys, and with truthful answers."""

    share: float
    formula: float
    simulated: float
    truthful: float


def the_statistician(demo: Demo, n_surveys: int = 20_000, n_people: int = 400) -> list[Spread]:
    """Compare the variance of the estimator by the formula with simulations."""
    rng = np.random.default_rng([SEED, 3])
    spreads = []
    for share in (0.02, 0.1, 0.5):
        dodges = rng.random((n_surveys, n_people), dtype=np.float32) < share
        estimates = SURVEY.estimate_mean(two_coins(dodges, rng))
        formula = n_people * SURVEY.estimator_variance(share, n_people)
        spreads.append(Spread(share, formula, n_people * float(np.var(estimates)), share * (1.0 - share)))
    demo.chapter("3. What the statistician learns")
    demo.say(
        f"""
        Noise that protects one person averages out over many. If a share m dodges, yes has probability 1/4 + m/2; so

          estimate = 2 * (share of yes) - 1/2          N * variance = 3/4 + m (1 - m)

        We simulate {n_surveys:,} surveys of {n_people} people and compare:
        """
    )
    rows = [[f"{s.share:g}", *(f"{v:.4f}" for v in (s.formula, s.simulated, s.truthful))] for s in spreads]
    factors = [f"{s.formula / s.truthful:.2f} x" for s in spreads]
    columns = ["share m", "N*variance: formula", "simulated", "truthful", "increase"]
    demo.table(columns, [[*row, factor] for row, factor in zip(rows, factors, strict=True)])
    demo.say(
        """
        The variance increases by a factor of at least four, and by much more for the rare behaviour that such surveys
        study.
        """
    )
    return spreads


# %% [markdown]
# ## 4. The trusted curator
#
# A trusted curator could collect true answers and add noise once, to the total: Laplace noise of scale 1/ε. At the same
# ε = ln 3 the noise adds 2 / (ε N)² to the variance, which decreases as 1/N², while the sampling variance decreases as
# 1/N.


# %%
def the_curator(demo: Demo) -> tuple[float, float]:
    """Return the variances of local and central noise at N = 10,000 and a share of one half."""
    demo.chapter("4. A trusted curator")
    demo.say(
        """
        With a trusted curator, people tell the truth and the curator adds noise once, to the total: Laplace noise of
        scale 1 / ln 3 = 0.91 people. At the same epsilon, the standard error of the estimate is
        """
    )
    rows, variances = [], {}
    for n in (100, 10_000, 1_000_000):
        truthful, local = 0.25 / n, SURVEY.estimator_variance(0.5, n)
        central = truthful + 2.0 / (LOG_3 * n) ** 2
        variances[n] = (local, central)
        rows.append([f"{n:,}", *(f"{100 * math.sqrt(v):.4f} %" for v in (truthful, central, local))])
    demo.table(["people", "truthful", "curator", "two coins"], rows)
    demo.say(
        """
        With a curator, the noise adds little to the sampling error. The two coins double the error for every number of
        people: the cost of local privacy.
        """
    )
    return variances[10_000]


# %% [markdown]
# ## 5. The audit
#
# An audit does not use the formulas: it runs the survey many times on Bob who dodges and many times on Bob who does
# not, counts the answers, and returns a lower bound on epsilon. With probability 0.999 or more, this bound is at most
# the true epsilon.


# %%
def the_attacker(demo: Demo, runs: Sequence[int] = (1_000, 10_000, 100_000, 1_000_000)) -> list[AuditResult]:
    """Return audits with increasing numbers of runs."""
    results = [audit(SURVEY, trials=n, confidence=CONFIDENCE, seed=SEED) for n in runs]
    demo.chapter("5. The audit")
    demo.say(
        f"""
        We run the survey on a Bob who dodges and on a Bob who does not, and compute a lower bound on epsilon from the
        answers; with 99.9 % confidence it is at most the true epsilon, ln 3 = {LOG_3:.6f}.
        """
    )
    demo.table(
        ["runs on each side", "lower bound", "of ln 3", "verdict on ln 3"],
        [
            [f"{n:,}", f"{r.bound.epsilon:.4f}", f"{r.bound.epsilon / LOG_3:.2%}", r.verdict.value]
            for n, r in zip(runs, results, strict=True)
        ],
    )
    demo.say("The bound approaches ln 3 from below, and the attack needs no knowledge of the coins.")
    return results


# %% [markdown]
# ## 6. The biased coin
#
# An implementation of the survey uses coins with heads probability 0.52. The claim is still ε = ln 3. But people now
# tell the truth slightly too often, and a "no" leaks more than claimed: Pr[no | 0] : Pr[no | 1] = 1 + h / (1 - h)² =
# 3.26 instead of 3. The audit detects the difference.


# %%
def the_biased_coin(demo: Demo, runs: Sequence[int] = (1_000, 10_000, 100_000, 1_000_000)) -> list[AuditResult]:
    """Return the same audits of a survey with biased coins."""
    broken = BiasedCoinResponse(heads=0.52)
    exact = broken.exact_guarantee().epsilon(0.0)
    results = [audit(broken, trials=n, confidence=CONFIDENCE, seed=SEED) for n in runs]
    demo.chapter("6. The biased coin")
    demo.say(
        f"""
        Another survey also claims ln 3, but its coins have heads probability 0.52. People tell the truth slightly too
        often: a "no" changes the odds by a factor of {math.exp(exact):.2f} instead of 3, and the true epsilon is
        {exact:.4f}. A few answers do not show this. The same audit:
        """
    )
    demo.table(
        ["runs on each side", "lower bound", "claimed", "p-value", "verdict"],
        [
            [f"{n:,}", f"{r.bound.epsilon:.4f}", f"{r.claim:.4f}", f"{r.p_value:.2g}", r.verdict.value]
            for n, r in zip(runs, results, strict=True)
        ],
    )
    demo.say(
        """
        A lower bound above the claim refutes the claim for this implementation, regardless of any proof. The last row
        in full:
        """
    )
    demo.show(results[-1].evidence())
    return results


# %% [markdown]
# ## Conclusion
#
# Differential privacy bounds the change of the odds by any answer; statistics remain accurate because noise averages
# out; and the claim of an implementation can be tested.


# %%
@dataclass(frozen=True)
class RandomizedResponseFindings:
    """Results of the demo."""

    yes: dict[bool, float]
    posterior: float
    spreads: list[Spread]
    local_and_central_variance: tuple[float, float]
    fair: list[AuditResult]
    biased: list[AuditResult]


def main(out: Path | None = None) -> RandomizedResponseFindings:
    """Run the demo: the leak of one answer of the tax survey, and audits with lower bounds near epsilon = ln 3.

    Args:
        out: folder for the figure; None for no figure.
    """
    demo = Demo(out=out)
    findings = RandomizedResponseFindings(
        the_protocol(demo),
        the_investigator(demo),
        the_statistician(demo),
        the_curator(demo),
        the_attacker(demo),
        the_biased_coin(demo),
    )
    demo.chapter("Conclusion")
    demo.say(
        """
        Differential privacy limits the change of the odds by any answer. Statistics remain accurate, because noise
        averages out. And a privacy claim can be tested: here the lower bound reached 99 % of a true claim, and the
        audit detected the biased coin.
        """
    )
    draw(demo, findings)
    return findings


# %%
def draw(demo: Demo, findings: RandomizedResponseFindings) -> None:
    """Draw two panels: beliefs before and after an answer, and lower bounds of the audits."""
    demo.panels(
        "randomized-response",
        _draw_belief,
        lambda ax: _draw_bounds(ax, findings),
        title="Randomised response",
        description="Left: belief after an answer against belief before. Right: lower bounds on epsilon against runs.",
    )


def _draw_belief(ax: Axes) -> None:
    prior = np.linspace(0.0, 1.0, 201)
    for answer, colour, name, at in ((1, BLUE, "after yes", (0.2, 0.5)), (0, AMBER, "after no", (0.62, 0.3))):
        ax.plot(prior, [SURVEY.posterior(prior=p, answer=answer) for p in prior], color=colour.light, linewidth=2)
        write(ax, *at, name, colour, ha="right" if answer else "left")
    ax.plot(prior, prior, color=MUTED.light, linewidth=1, linestyle=(0, (4, 3)))
    ax.plot([0.02], [3 / 52], marker="o", color=BLUE.light)
    ax.annotate("Tammy: 0.02 to 0.058", (0.02, 3 / 52), (0.04, 0.92), color=BLUE.light, fontsize=8.5, va="center",
                arrowprops={"arrowstyle": "-", "color": BLUE.light, "shrinkB": 4, "relpos": (0.0, 0.0)})  # fmt: skip
    ax.set(xlim=(0, 1), ylim=(0, 1))
    style_axes(ax, title="An answer changes the odds by a factor of three", x="prior belief", y="posterior belief")


def _draw_bounds(ax: Axes, findings: RandomizedResponseFindings) -> None:
    labels = [EndLabel(LOG_3, "claim: ln 3", CLAIM)]
    ax.axhline(LOG_3, color=CLAIM.light, linewidth=1.4)
    for results, colour, name in ((findings.fair, BOUND, "fair coins"), (findings.biased, VIOLATION, "biased coin")):
        bounds = [r.bound.epsilon for r in results]
        ax.plot([r.trials.per_side for r in results], bounds, marker="o", color=colour.light, linewidth=2)
        labels.append(EndLabel(bounds[-1], name, colour))
    runs = [r.trials.per_side for r in (*findings.fair, *findings.biased)]
    epsilons = [r.bound.epsilon for r in (*findings.fair, *findings.biased)]
    logarithmic(ax.xaxis, min(runs) / 1.2, max(runs) * 1.2)
    room = 0.08 * (max(*epsilons, LOG_3) - min(*epsilons, LOG_3))
    ax.set_ylim(min(*epsilons, LOG_3) - room, max(*epsilons, LOG_3) + room)
    title = "The bound approaches ln 3, and refutes the biased coin"
    style_axes(ax, title=title, x="runs on each side", y="lower bound on epsilon")
    end_labels(ax, labels)


# %%
if __name__ == "__main__":
    main()
