# %% [markdown]
# # The error of MWEM
#
# Nine hundred and sixty answers about two thousand people. Noise on every answer gives large errors; MWEM fits a
# distribution to a few measured answers with the largest error. How many should it measure, and what does this leak?
#
# Names and symbols: `n_records` n, `rounds` T, a workload W of m queries over the cells of a domain.

# %%
"""Error of MWEM against rounds and epsilon, compared with plain noise, and an audit of its transcript."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from ....audit import AuditResult, audit
from ....mechanisms import Laplace, Relation
from ....mechanisms.noise.queries import Domain, Workload
from ....mechanisms.query_release.multiplicative_weights import MWEM
from ...report.plots.style import AMBER, BLUE, CLAIM, GREEN, EndLabel, end_labels, logarithmic, style_axes
from ..demo import Demo

SEED = 2012
PEOPLE, ATTRIBUTES, RUNS = 2_000, 10, 10
ROUNDS = (1, 2, 4, 8, 16, 32)
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
AUDITED_ROUNDS = (1, 2, 5, 10)
WORKLOAD = Workload.marginals(Domain(tuple((f"a{i}", 2) for i in range(ATTRIBUTES))), 3)
TINY = Workload(Domain((("cell", 3),)), np.eye(2, 3))


def people() -> NDArray[np.int64]:
    """Return records of ten bits, each of which mostly repeats the previous one."""
    rng = np.random.default_rng(SEED)
    bits = [rng.random(PEOPLE) < 0.3]
    for _ in range(ATTRIBUTES - 1):
        bits.append(np.where(rng.random(PEOPLE) < 0.2, rng.random(PEOPLE) < 0.3, bits[-1]))
    return np.column_stack(bits).astype(np.int64)


def worst_error(answers: NDArray[np.float64], exact: NDArray[np.float64]) -> float:
    """Return the mean over runs of the largest error of all answers, as a share of the people."""
    return float(np.abs(answers - exact).max(axis=1).mean()) / PEOPLE


def mwem_error(epsilon: float, rounds: int, synthetic: str = "last") -> float:
    """Return the worst error of MWEM."""
    mechanism = MWEM(WORKLOAD, PEOPLE, epsilon=epsilon, rounds=rounds, replays=1, synthetic=synthetic, view="answers")
    data = people()
    return worst_error(mechanism.release(data, RUNS, np.random.default_rng([SEED, rounds])).values, WORKLOAD(data))


# %% [markdown]
# ## 1. Number of rounds
#
# Each round measures one query with 1/T of the budget: more rounds measure more of the data, with more noise.


# %%
def against_rounds(demo: Demo) -> dict[tuple[float, int], float]:
    """Return the worst error for some epsilons and numbers of rounds."""
    worst_errors = {(e, t): mwem_error(e, t) for e in (0.3, 1.0, 10.0) for t in ROUNDS}
    demo.chapter("1. Number of rounds")
    demo.say(
        f"""
        {PEOPLE:,} people with {ATTRIBUTES} bits each, and the {WORKLOAD.n_answers} counts of all tables of three bits.
        In each round, MWEM selects a count on which its distribution has a large error, measures it with noise, and
        updates the distribution. The worst error of all {WORKLOAD.n_answers} counts, as a share of the people:
        """
    )
    demo.table(
        ["epsilon", *(f"{t} rounds" for t in ROUNDS)],
        [[f"{e:g}", *(f"{worst_errors[e, t]:.3f}" for t in ROUNDS)] for e in (0.3, 1.0, 10.0)],
    )
    demo.say("With a small budget, the last rounds do not reduce the error. With a large one, they do.")
    return worst_errors


# %% [markdown]
# ## 2. Comparison with noise on every answer
#
# A replaced record changes two cells of each of 120 tables: Laplace noise of scale 240 / epsilon on each.


# %%
def against_epsilon(demo: Demo) -> dict[float, tuple[float, float, float]]:
    """Return the worst errors at each epsilon: MWEM with 8 and 32 rounds, and noise on every answer."""
    data, worst_errors = people(), {}
    exact = WORKLOAD(data)
    for epsilon in EPSILONS:
        sensitivity = WORKLOAD.sensitivity(Relation.REPLACE_ONE)
        noise = Laplace(epsilon, sensitivity=sensitivity, n_queries=len(exact), relation=Relation.REPLACE_ONE)
        plain = worst_error(noise.release(exact, RUNS, np.random.default_rng([SEED, 2])).values, exact)
        worst_errors[epsilon] = (mwem_error(epsilon, 8), mwem_error(epsilon, 32), plain)
    demo.chapter("2. Comparison with noise on every answer")
    demo.table(
        ["epsilon", "MWEM, 8 rounds", "MWEM, 32 rounds", "Laplace on all"],
        [[f"{e:g}", *(f"{value:.3f}" for value in row)] for e, row in worst_errors.items()],
    )
    demo.say(
        """
        Noise on every answer divides the budget among all of them; MWEM divides it among the few that it measures. With
        the largest budget, noise on all answers is better than eight rounds, whose error does not decrease further with
        the budget: more rounds are needed.
        """
    )
    return worst_errors


# %% [markdown]
# ## 3. Audit of the transcript
#
# MWEM depends on the data only through the selected queries and their noisy answers. Their distribution is known
# exactly, so that the likelihood-ratio attack is optimal.


# %%
def audited(demo: Demo) -> dict[int, AuditResult]:
    """Audit transcripts at epsilon 2, for some numbers of rounds."""
    audits = {
        rounds: audit(MWEM(TINY, 20, epsilon=2.0, rounds=rounds), trials=20_000, delta=1e-2, seed=SEED)
        for rounds in AUDITED_ROUNDS
    }
    demo.chapter("3. Audit of the transcript")
    demo.table(
        ["rounds", "lower bound", "claimed"],
        [[str(rounds), f"{r.bound.epsilon:.3f}", f"{r.claim:.3f}"] for rounds, r in audits.items()],
    )
    demo.say(
        """
        The claim adds the worst-case privacy loss of every round. The loss is rarely at its maximum in all rounds, so
        that the lower bound at a positive delta decreases with the number of rounds, while the claim does not: the
        motivation for Gaussian noise and concentrated differential privacy.
        """
    )
    return audits


# %%
@dataclass(frozen=True)
class ErrorOfMwemFindings:
    """Results of the demo."""

    against_rounds: dict[tuple[float, int], float]
    against_epsilon: dict[float, tuple[float, float, float]]
    audited: dict[int, AuditResult]


def main(out: Path | None = None) -> ErrorOfMwemFindings:
    """Run the demo: error of MWEM by rounds, comparison with noise on every answer, and audit of its transcript.

    Args:
        out: folder for the figure; None for no figure.
    """
    demo = Demo(out=out)
    findings = ErrorOfMwemFindings(against_rounds(demo), against_epsilon(demo), audited(demo))
    demo.chapter("Conclusion")
    demo.say("Spend the budget on the queries with the largest error, and infer the other answers from them.")
    draw(demo, findings)
    return findings


# %%
def draw(demo: Demo, findings: ErrorOfMwemFindings) -> None:
    """Draw three panels: error against rounds, error against epsilon, audited epsilon against rounds."""
    demo.panels(
        "error-of-mwem",
        lambda ax: _draw_rounds(ax, findings),
        lambda ax: _draw_epsilons(ax, findings),
        lambda ax: _draw_bounds(ax, findings),
        title="The error of MWEM",
        description="Left: worst error against rounds. Middle: against epsilon. Right: audited epsilon of transcripts.",
        size=(14.0, 4.2),
    )


def _draw_rounds(ax: Axes, findings: ErrorOfMwemFindings) -> None:
    labels = []
    for epsilon, colour in zip((0.3, 1.0, 10.0), (BLUE, AMBER, GREEN), strict=True):
        values = [findings.against_rounds[epsilon, t] for t in ROUNDS]
        ax.plot(ROUNDS, values, marker="o", color=colour.light, linewidth=1.6)
        labels.append(EndLabel(values[-1], f"epsilon {epsilon:g}", colour))
    logarithmic(ax.xaxis, ROUNDS[0] / 1.15, ROUNDS[-1] * 1.15)
    ax.set_ylim(bottom=0.0)
    style_axes(ax, title="Error of MWEM by number of rounds", x="rounds", y="worst error, share of people")
    end_labels(ax, labels)


def _draw_epsilons(ax: Axes, findings: ErrorOfMwemFindings) -> None:
    labels = []
    for place, (name, colour) in enumerate((("8 rounds", BLUE), ("32 rounds", AMBER), ("noise on all answers", GREEN))):
        values = [findings.against_epsilon[e][place] for e in EPSILONS]
        ax.plot(EPSILONS, values, marker="o", color=colour.light, linewidth=1.6)
        labels.append(EndLabel(values[-1], name, colour))
    logarithmic(ax.xaxis, EPSILONS[0] / 1.15, EPSILONS[-1] * 1.15)
    logarithmic(ax.yaxis, 0.005, 20.0)
    style_axes(ax, title="MWEM and Laplace noise on all answers", x="epsilon", y="worst error, share of people")
    end_labels(ax, labels)


def _draw_bounds(ax: Axes, findings: ErrorOfMwemFindings) -> None:
    lower_bounds = [findings.audited[t].bound.epsilon for t in AUDITED_ROUNDS]
    claims = [findings.audited[t].claim for t in AUDITED_ROUNDS]
    ax.plot(AUDITED_ROUNDS, claims, color=CLAIM.light, linewidth=1.4)
    ax.plot(AUDITED_ROUNDS, lower_bounds, marker="o", color=BLUE.light, linewidth=1.6)
    ax.set_ylim(0.0, 2.2)
    style_axes(ax, title="Transcripts, audited at delta 0.01", x="rounds", y="epsilon")
    end_labels(ax, [EndLabel(claims[-1], "claim", CLAIM), EndLabel(lower_bounds[-1], "lower bound", BLUE)])


# %%
if __name__ == "__main__":
    main()
