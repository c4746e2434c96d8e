# %% [markdown]
# # The error of MWEM
#
# Nine hundred and sixty answers about two thousand people. Noise on each of them drowns most; a distribution that is
# shown only the answers it gets most wrong does far better. How many should it be shown, and what does that give away?
#
# Our names and the usual symbols: `n_records` n, `rounds` T, a workload W of m queries over the cells of a domain.

# %%
"""The error of MWEM against rounds and against epsilon, beside plain noise, and what its transcript gives away."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from ....audit import AuditResult, audit
from ....mechanisms import Laplace, Relation
from ....mechanisms.queries import Domain, Workload
from ....mechanisms.release.weights import MWEM
from ...plots.style.canvas import EndLabel, end_labels, logarithmic, style_axes
from ...plots.style.palette import AMBER, BLUE, CLAIM, GREEN
from ..lecture import Lecture

SEED = 2012
PEOPLE, ATTRIBUTES, RUNS = 2_000, 10, 10
ROUNDS = (1, 2, 4, 8, 16, 32)
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
AUDITED_ROUNDS = (1, 2, 5, 10)
WORKLOAD = Workload.marginals(Domain(tuple((f"a{i}", 2) for i in range(ATTRIBUTES))), 3)
TINY = Workload(Domain((("cell", 3),)), np.eye(2, 3))


def people() -> NDArray[np.int64]:
    """Ten bits each; every bit mostly repeats the one before."""
    rng = np.random.default_rng(SEED)
    bits = [rng.random(PEOPLE) < 0.3]
    for _ in range(ATTRIBUTES - 1):
        bits.append(np.where(rng.random(PEOPLE) < 0.2, rng.random(PEOPLE) < 0.3, bits[-1]))
    return np.column_stack(bits).astype(np.int64)


def worst_error(answers: NDArray[np.float64], exact: NDArray[np.float64]) -> float:
    """The largest error of all answers, as a share of the people, on average over the runs."""
    return float(np.abs(answers - exact).max(axis=1).mean()) / PEOPLE


def mwem_error(epsilon: float, rounds: int, synthetic: str = "last") -> float:
    """Of MWEM."""
    mechanism = MWEM(WORKLOAD, PEOPLE, epsilon=epsilon, rounds=rounds, replays=1, synthetic=synthetic, view="answers")
    data = people()
    return worst_error(mechanism.release(data, RUNS, np.random.default_rng([SEED, rounds])).values, WORKLOAD(data))


# %% [markdown]
# ## 1. How many rounds?
#
# Each round measures one query with T-th part of the budget: more rounds see more of the data, through more noise.


# %%
def against_rounds(lecture: Lecture) -> dict[tuple[float, int], float]:
    """Worst error for some epsilons and numbers of rounds."""
    found = {(e, t): mwem_error(e, t) for e in (0.3, 1.0, 10.0) for t in ROUNDS}
    lecture.chapter("1. How many rounds?")
    lecture.say(
        f"""
        {PEOPLE:,} people with {ATTRIBUTES} bits each, and the {WORKLOAD.n_answers} counts of all tables of three bits.
        MWEM picks, in each round, a count that its distribution gets badly wrong, measures it with noise, and moves the
        distribution. The worst error of all {WORKLOAD.n_answers} counts, as a share of the people:
        """
    )
    lecture.table(
        ["epsilon", *(f"{t} rounds" for t in ROUNDS)],
        [[f"{e:g}", *(f"{found[e, t]:.3f}" for t in ROUNDS)] for e in (0.3, 1.0, 10.0)],
    )
    lecture.say("A small budget gains nothing more from the last rounds. With a large one, more rounds keep helping.")
    return found


# %% [markdown]
# ## 2. Beside noise on every answer
#
# A record that is replaced moves two cells of each of 120 tables: Laplace noise of scale 240 / epsilon on each.


# %%
def against_epsilon(lecture: Lecture) -> dict[float, tuple[float, float, float]]:
    """Worst errors at each epsilon: of MWEM with 8 rounds and with 32, and of noise on every answer."""
    data, found = people(), {}
    exact = WORKLOAD(data)
    for epsilon in EPSILONS:
        sensitivity = WORKLOAD.sensitivity(Relation.REPLACE_ONE)
        noise = Laplace(epsilon, sensitivity=sensitivity, n_queries=len(exact), relation=Relation.REPLACE_ONE)
        plain = worst_error(noise.release(exact, RUNS, np.random.default_rng([SEED, 2])).values, exact)
        found[epsilon] = (mwem_error(epsilon, 8), mwem_error(epsilon, 32), plain)
    lecture.chapter("2. Beside noise on every answer")
    lecture.table(
        ["epsilon", "MWEM, 8 rounds", "MWEM, 32 rounds", "Laplace on all"],
        [[f"{e:g}", *(f"{value:.3f}" for value in row)] for e, row in found.items()],
    )
    lecture.say(
        """
        Noise on every answer has to pay for all of them; MWEM pays for the few that it looks at. With the largest
        budget noise on all beats eight rounds, which cannot see more however large the budget: there it takes more.
        """
    )
    return found


# %% [markdown]
# ## 3. What the transcript gives away
#
# The chosen queries and their noisy answers are all that MWEM sees. Their law is exact, so that no attack does better.


# %%
def audited(lecture: Lecture) -> dict[int, AuditResult]:
    """The audit of transcripts at epsilon 2, for some numbers of rounds."""
    found = {
        rounds: audit(MWEM(TINY, 20, epsilon=2.0, rounds=rounds), trials=20_000, delta=1e-2, seed=SEED)
        for rounds in AUDITED_ROUNDS
    }
    lecture.chapter("3. What the transcript gives away")
    lecture.table(
        ["rounds", "epsilon at least", "claimed"],
        [[str(rounds), f"{r.bound.epsilon:.3f}", f"{r.claim:.3f}"] for rounds, r in found.items()],
    )
    lecture.say(
        """
        The claim adds up the worst of every round. Many rounds are rarely all at their worst together, which is why
        the bound at a small delta falls while the claim stays: the reason for Gaussian noise and concentrated accounts.
        """
    )
    return found


# %%
@dataclass(frozen=True)
class Findings:
    """Every number of the lecture."""

    against_rounds: dict[tuple[float, int], float]
    against_epsilon: dict[float, tuple[float, float, float]]
    audited: dict[int, AuditResult]


def main(out: Path | None = None) -> Findings:
    """The error of MWEM: how many rounds, what is gained over noise on every answer, and what the transcript tells.

    Args:
        out: folder for the figure; None draws none.
    """
    lecture = Lecture(out=out)
    found = Findings(against_rounds(lecture), against_epsilon(lecture), audited(lecture))
    lecture.chapter("To take home")
    lecture.say("Ask where you are most wrong, pay for that answer only, and keep what it teaches about the others.")
    draw(lecture, found)
    return found


# %%
def draw(lecture: Lecture, found: Findings) -> None:
    """Three panels: error against rounds, error against epsilon, audited epsilon against rounds."""
    lecture.panels(
        "error-of-mwem",
        lambda ax: _draw_rounds(ax, found),
        lambda ax: _draw_epsilons(ax, found),
        lambda ax: _draw_bounds(ax, found),
        title="The error of MWEM",
        description="Left: worst error against rounds. Middle: against epsilon. Right: audited epsilon of transcripts.",
        size=(14.0, 4.2),
    )


def _draw_rounds(ax: Axes, found: Findings) -> None:
    labels = []
    for epsilon, colour in zip((0.3, 1.0, 10.0), (BLUE, AMBER, GREEN), strict=True):
        values = [found.against_rounds[epsilon, t] for t in ROUNDS]
        ax.plot(ROUNDS, values, marker="o", color=colour.light, linewidth=1.6)
        labels.append(EndLabel(values[-1], f"epsilon {epsilon:g}", colour))
    logarithmic(ax.xaxis, ROUNDS[0] / 1.15, ROUNDS[-1] * 1.15)
    ax.set_ylim(bottom=0.0)
    style_axes(ax, title="More rounds, more noise in each", x="rounds", y="worst error, share of people")
    end_labels(ax, labels)


def _draw_epsilons(ax: Axes, found: Findings) -> None:
    labels = []
    for place, (name, colour) in enumerate((("8 rounds", BLUE), ("32 rounds", AMBER), ("noise on all", GREEN))):
        values = [found.against_epsilon[e][place] for e in EPSILONS]
        ax.plot(EPSILONS, values, marker="o", color=colour.light, linewidth=1.6)
        labels.append(EndLabel(values[-1], name, colour))
    logarithmic(ax.xaxis, EPSILONS[0] / 1.15, EPSILONS[-1] * 1.15)
    logarithmic(ax.yaxis, 0.005, 20.0)
    style_axes(ax, title="MWEM and Laplace noise on all answers", x="epsilon", y="worst error, share of people")
    end_labels(ax, labels)


def _draw_bounds(ax: Axes, found: Findings) -> None:
    seen = [found.audited[t].bound.epsilon for t in AUDITED_ROUNDS]
    claims = [found.audited[t].claim for t in AUDITED_ROUNDS]
    ax.plot(AUDITED_ROUNDS, claims, color=CLAIM.light, linewidth=1.4)
    ax.plot(AUDITED_ROUNDS, seen, marker="o", color=BLUE.light, linewidth=1.6)
    ax.set_ylim(0.0, 2.2)
    style_axes(ax, title="Transcripts, audited at delta 0.01", x="rounds", y="epsilon")
    end_labels(ax, [EndLabel(claims[-1], "claim", CLAIM), EndLabel(seen[-1], "at least", BLUE)])


# %%
if __name__ == "__main__":
    main()
