# %% [markdown]
# # Have you ever dodged your taxes?
#
# A survey asks a question that nobody likes to answer, and lets chance protect those who do. This lecture follows one
# survey through everything that the library does: what an observer learns from an answer, what the survey still learns
# about the population, how much privacy that is, and how an attack measures it without being given it.
#
# Run the cells from top to bottom, or the whole lecture with `dpassay demo randomized-response`.
#
# Our names and the usual symbols: `epsilon` ε, `lying_probability` r, `share` μ (of people who dodge), `n_people` N.

# %%
"""Randomised response: the tax survey of Warner (1965), from an investigator's belief to an attack that finds ln 3."""

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
from ...mechanisms.broken.biased_coin import BiasedCoinResponse
from ..plots.style.canvas import EndLabel, end_labels, logarithmic, style_axes, write
from ..plots.style.palette import AMBER, BLUE, BOUND, CLAIM, MUTED, VIOLATION
from .lecture import Lecture

SEED = 1965
CONFIDENCE = 0.999
"""Of each bound: a class sees eight of them, and should not see one fail by bad luck."""
SURVEY = RandomizedResponse.two_coin()
LOG_3 = math.log(3.0)

# %% [markdown]
# ## 1. Two coins
#
# Toss a coin. Heads: tell the truth. Tails: toss again, and say yes on heads, no on tails. The whole protocol is one
# line of numpy, for as many people at once as we like.


# %%
def two_coins(dodges: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.bool_]:
    """One answer for each person, True = yes. Shape as `dodges`."""
    first, second = rng.integers(0, 2, size=(2, *dodges.shape), dtype=np.int8).astype(np.bool_)
    return np.where(first, dodges, second)


def the_protocol(lecture: Lecture) -> dict[bool, float]:
    """How often people who dodge, and people who do not, say yes."""
    rng = np.random.default_rng([SEED, 1])
    yes = {dodges: float(two_coins(np.full(1_000_000, dodges), rng).mean()) for dodges in (True, False)}
    lecture.chapter("1. Two coins")
    lecture.say(
        """
        "Have you ever dodged your taxes?" Before you answer, toss a coin where nobody can see it. Heads: tell the
        truth. Tails: toss it again, and say yes on heads, no on tails.

        A yes may come from the coin; nobody can hold it against you. We ask a million people of each kind:
        """
    )
    lecture.table(
        ["who", "say yes", "in theory"],
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
# In odds the rule is shorter: the answer multiplies the odds by 3/4 : 1/4 = 3, or divides them by 3, and does no more.


# %%
def the_investigator(lecture: Lecture) -> float:
    """What Tammy believes after a yes, for several things that she may have believed before."""
    lecture.chapter("2. What the investigator learns")
    posterior = SURVEY.posterior(prior=0.02, answer=1)
    lecture.say(
        f"""
        Tammy, the tax investigator, thinks that Bob dodges with probability 0.02. Then she sees his answer: yes. By
        Bayes' rule she now thinks

          0.02 * 3/4 / (0.02 * 3/4 + 0.98 * 1/4) = 3/52 = {posterior:.6f}

        From 2 % to not quite 6 %. Whatever she believed before, an answer multiplies or divides the odds by three:
        """
    )
    rows = []
    for prior in (0.001, 0.02, 0.1, 0.5, 0.9):
        no, yes = (SURVEY.posterior(prior=prior, answer=answer) for answer in (0, 1))
        rows.append([f"{prior:g}", f"{no:.4f}", f"{yes:.4f}", f"{prior / (1 - prior):.4g}", f"{yes / (1 - yes):.4g}"])
    lecture.table(["belief before", "after no", "after yes", "odds before", "odds after yes"], rows)
    lecture.say(
        """
        That factor is the privacy of the survey. Differential privacy calls it e^epsilon: here epsilon = ln 3 = 1.0986,
        a promise to each person on their own, which needs no trust in whoever collects the answers.
        """
    )
    return posterior


# %% [markdown]
# ## 3. The statistician
#
# Noise that hides each person averages out over all of them. A share μ of dodgers gives yes with probability
# 1/4 + μ/2, so that
#
#     estimate = 2 · mean(answers) - 1/2,        N · variance = 3/4 + μ (1 - μ)
#
# where truthful answers would give N · variance = μ (1 - μ). We hold 20,000 surveys and look whether it is so.


# %%
@dataclass(frozen=True)
class Spread:
    """N times the variance of the estimate: by the formula, in simulated surveys, and if all answers were truthful."""

    share: float
    formula: float
    simulated: float
    truthful: float


def the_statistician(lecture: Lecture, n_surveys: int = 20_000, n_people: int = 400) -> list[Spread]:
    """The estimator and its variance, formula against simulation."""
    rng = np.random.default_rng([SEED, 3])
    found = []
    for share in (0.02, 0.1, 0.5):
        dodges = rng.random((n_surveys, n_people), dtype=np.float32) < share
        estimates = SURVEY.estimate_mean(two_coins(dodges, rng))
        formula = n_people * SURVEY.estimator_variance(share, n_people)
        found.append(Spread(share, formula, n_people * float(np.var(estimates)), share * (1.0 - share)))
    lecture.chapter("3. What the statistician learns")
    lecture.say(
        f"""
        Noise that hides one person averages out over many. If a share m dodges, yes has probability 1/4 + m/2; so

          estimate = 2 * (share of yes) - 1/2          N * variance = 3/4 + m (1 - m)

        We hold {n_surveys:,} surveys of {n_people} people and compare:
        """
    )
    rows = [[f"{s.share:g}", *(f"{v:.4f}" for v in (s.formula, s.simulated, s.truthful))] for s in found]
    prices = [f"{s.formula / s.truthful:.2f} x" for s in found]
    columns = ["share m", "N*variance: formula", "simulated", "truthful", "price"]
    lecture.table(columns, [[*row, price] for row, price in zip(rows, prices, strict=True)])
    lecture.say(
        """
        The price is a factor of four at best, and far more for the rare behaviour that such surveys are about.
        """
    )
    return found


# %% [markdown]
# ## 4. The trusted curator
#
# Someone whom everybody trusts could collect true answers and add noise once, to the total: Laplace noise of scale
# 1/ε. At the same ε = ln 3 the noise adds 2 / (ε N)² to the variance, which fades as 1/N² while chance in the sample
# fades as 1/N.


# %%
def the_curator(lecture: Lecture) -> tuple[float, float]:
    """Variance at N = 10,000 and a share of one half: randomised response, and Laplace noise on the total."""
    lecture.chapter("4. What trust would buy")
    lecture.say(
        """
        If everybody trusted one curator, people could tell the truth and the curator would add noise once, to the
        total: Laplace noise of scale 1 / ln 3 = 0.91 people. At the same epsilon, the typical error of the estimate is
        """
    )
    rows, variances = [], {}
    for n in (100, 10_000, 1_000_000):
        truthful, local = 0.25 / n, SURVEY.estimator_variance(0.5, n)
        central = truthful + 2.0 / (LOG_3 * n) ** 2
        variances[n] = (local, central)
        rows.append([f"{n:,}", *(f"{100 * math.sqrt(v):.4f} %" for v in (truthful, central, local))])
    lecture.table(["people", "truthful", "curator", "two coins"], rows)
    lecture.say(
        """
        With a curator, privacy is nearly free. The coins cost a doubled error for ever: the price of trusting nobody.
        """
    )
    return variances[10_000]


# %% [markdown]
# ## 5. The attacker
#
# So far we believed the formulas. An audit believes nothing: it runs the survey many times on Bob who dodges and many
# times on Bob who does not, watches how often each answer comes, and says which epsilon is the least that could
# explain what it saw. With probability 0.999 or more that number is not above the truth.


# %%
def the_attacker(lecture: Lecture, runs: Sequence[int] = (1_000, 10_000, 100_000, 1_000_000)) -> list[AuditResult]:
    """Lower bounds on epsilon from more and more runs."""
    results = [audit(SURVEY, trials=n, confidence=CONFIDENCE, seed=SEED) for n in runs]
    lecture.chapter("5. What an attacker finds")
    lecture.say(
        f"""
        Now forget the formulas. We run the survey on a Bob who dodges and on a Bob who does not, and ask which epsilon
        is the least that explains the answers; with 99.9 % confidence it is no more than the truth, ln 3 = {LOG_3:.6f}.
        """
    )
    lecture.table(
        ["runs on each side", "epsilon is at least", "of ln 3", "verdict on ln 3"],
        [
            [f"{n:,}", f"{r.bound.epsilon:.4f}", f"{r.bound.epsilon / LOG_3:.2%}", r.verdict.value]
            for n, r in zip(runs, results, strict=True)
        ],
    )
    lecture.say("It climbs towards ln 3 and stops short of it: nobody had to give the attack the law of the coins.")
    return results


# %% [markdown]
# ## 6. The biased coin
#
# Somebody builds the survey with coins that fall on heads 52 times in 100. The questionnaire looks the same, and the
# claim ε = ln 3 is still printed on it. But people now tell the truth a little too often, and a "no" says more than it
# should: Pr[no | 0] : Pr[no | 1] = 1 + h / (1 - h)² = 3.26 instead of 3. Only the audit sees the difference.


# %%
def the_biased_coin(lecture: Lecture, runs: Sequence[int] = (1_000, 10_000, 100_000, 1_000_000)) -> list[AuditResult]:
    """The same audits of a survey whose coins are not fair."""
    broken = BiasedCoinResponse(heads=0.52)
    exact = broken.exact_guarantee().epsilon(0.0)
    results = [audit(broken, trials=n, confidence=CONFIDENCE, seed=SEED) for n in runs]
    lecture.chapter("6. A coin that is not fair")
    lecture.say(
        f"""
        Another survey claims the same ln 3, but its coins fall on heads 52 times in 100. People tell the truth a little
        too often: a "no" moves the odds by {math.exp(exact):.2f} instead of 3, and the true epsilon is {exact:.4f}. No
        one who reads a few answers would notice. The same audit says:
        """
    )
    lecture.table(
        ["runs on each side", "epsilon is at least", "claimed", "p-value", "verdict"],
        [
            [f"{n:,}", f"{r.bound.epsilon:.4f}", f"{r.claim:.4f}", f"{r.p_value:.2g}", r.verdict.value]
            for n, r in zip(runs, results, strict=True)
        ],
    )
    lecture.say(
        """
        A bound above the claim is evidence against the survey, whoever wrote it and whatever the proof says. The last
        row in full:
        """
    )
    lecture.show(results[-1].evidence())
    return results


# %% [markdown]
# ## What to take home
#
# Privacy is a bound on how far any answer can move the odds; statistics survive because noise averages out; and a
# claim about code is something that can be measured.


# %%
@dataclass(frozen=True)
class Findings:
    """Every number of the lecture."""

    yes: dict[bool, float]
    posterior: float
    spreads: list[Spread]
    local_and_central_variance: tuple[float, float]
    fair: list[AuditResult]
    biased: list[AuditResult]


def main(out: Path | None = None) -> Findings:
    """The tax survey: what one answer gives away, and an attack that finds epsilon = ln 3.

    Args:
        out: folder for the figure; None draws none.
    """
    lecture = Lecture(out=out)
    found = Findings(
        the_protocol(lecture),
        the_investigator(lecture),
        the_statistician(lecture),
        the_curator(lecture),
        the_attacker(lecture),
        the_biased_coin(lecture),
    )
    lecture.chapter("To take home")
    lecture.say(
        """
        Privacy is a limit on how far any answer moves the odds. Statistics survive, because noise averages out. And a
        claim about privacy can be measured: here the attack found 99 % of it, and caught the coin that broke it.
        """
    )
    draw(lecture, found)
    return found


# %%
def draw(lecture: Lecture, found: Findings) -> None:
    """Two panels: belief before and after an answer, and what the audits found."""
    lecture.panels(
        "randomized-response",
        _draw_belief,
        lambda ax: _draw_bounds(ax, found),
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
    style_axes(ax, title="An answer moves the odds by a factor of three", x="belief before", y="belief after")


def _draw_bounds(ax: Axes, found: Findings) -> None:
    labels = [EndLabel(LOG_3, "claim: ln 3", CLAIM)]
    ax.axhline(LOG_3, color=CLAIM.light, linewidth=1.4)
    for results, colour, name in ((found.fair, BOUND, "fair coins"), (found.biased, VIOLATION, "biased coin")):
        bounds = [r.bound.epsilon for r in results]
        ax.plot([r.trials.per_side for r in results], bounds, marker="o", color=colour.light, linewidth=2)
        labels.append(EndLabel(bounds[-1], name, colour))
    runs = [r.trials.per_side for r in (*found.fair, *found.biased)]
    shown = [r.bound.epsilon for r in (*found.fair, *found.biased)]
    logarithmic(ax.xaxis, min(runs) / 1.2, max(runs) * 1.2)
    room = 0.08 * (max(*shown, LOG_3) - min(*shown, LOG_3))
    ax.set_ylim(min(*shown, LOG_3) - room, max(*shown, LOG_3) + room)
    style_axes(
        ax, title="The attack finds ln 3, and catches the biased coin", x="runs on each side", y="epsilon is at least"
    )
    end_labels(ax, labels)


# %%
if __name__ == "__main__":
    main()
