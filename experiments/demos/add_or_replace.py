# %% [markdown]
# # Add or replace?
#
# What fraction of Canadians have blue eyes? We release two counts, of people with blue eyes and of people without, and
# add Laplace noise of scale 1/ε = 10 to each, for ε = 0.1. Is that right? It depends on a question that is easily
# forgotten: how do two neighbouring datasets differ?
#
# Run the cells from top to bottom, or the whole lecture with `dpassay demo add-or-replace`.

# %%
"""Blue eyes: one mechanism, one noise, two neighbouring relations, and an epsilon that doubles between them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from ...audit import AuditResult, audit
from ...mechanisms import Laplace, Neighbours, Relation
from ...mechanisms.broken.laplace_sensitivity import LaplaceForgottenSensitivity
from ...mechanisms.errors import NeighboursError, RelationError
from ..plots.style.canvas import style_axes, write
from ..plots.style.palette import BOUND, VIOLATION
from ..plots.style.palette import CLAIM as CLAIM_COLOUR
from .lecture import Lecture

SEED = 30
TRIALS = 1_000_000
CLAIM = 0.1

# %% [markdown]
# ## 1. The mechanism
#
# The dataset is the pair of counts itself: (with blue eyes, without). The noise does not depend on how many people
# there are: ±10 people out of forty million.


# %%
def the_counts(lecture: Lecture) -> float:
    """One noisy release, and the scale of its noise."""
    mechanism = Laplace(CLAIM, n_queries=2, relation=Relation.ADD_REMOVE)
    truth = np.array([6_400_000.0, 33_600_000.0])
    released = mechanism.release(truth, 1, np.random.default_rng(SEED)).values[0]
    lecture.chapter("1. Two counts and some noise")
    lecture.say(
        """
        How many Canadians have blue eyes, and how many have not? We publish both counts with Laplace noise of scale
        1 / 0.1 = 10 on each, and claim epsilon = 0.1. For a country of forty million (with made-up counts):
        """
    )
    rows = [[name, f"{t:,.0f}", f"{r:,.1f}"] for name, t, r in zip(("blue", "not blue"), truth, released, strict=True)]
    lecture.table(["eyes", "true count", "published"], rows)
    lecture.say("Ten people more or less, whatever the population: that is how cheap privacy is for large counts.")
    return mechanism.scale


# %% [markdown]
# ## 2. One person more
#
# Under `add_remove`, neighbours differ by one person who is there or not. One of the two counts moves by one.


# %%
def add_one(lecture: Lecture) -> AuditResult:
    """The audit under add_remove: the claim is tight."""
    mechanism = Laplace(CLAIM, n_queries=2, relation=Relation.ADD_REMOVE)
    pair = Neighbours([0.0, 0.0], [1.0, 0.0], Relation.ADD_REMOVE)
    result = audit(mechanism, pair, trials=TRIALS, seed=SEED)
    lecture.chapter("2. Is Anna in the census?")
    lecture.say(
        """
        An attacker knows everybody's eyes but cannot tell whether Anna was counted at all. With her, one count is
        higher by one. A million runs on each side:
        """
    )
    _show(lecture, result)
    lecture.say("The bound comes close to 0.1 and stays below: claim and noise agree.")
    return result


# %% [markdown]
# ## 3. Another colour of eyes
#
# Under `replace_one`, neighbours have the same number of people; one of them is different. If Anna's eyes are blue in
# one dataset and brown in the other, one count goes up *and* the other goes down: the L1 distance is 2.


# %%
def replace_one(lecture: Lecture) -> AuditResult:
    """The same noise under replace_one: the claim of 0.1 is refuted."""
    lecture.chapter("3. What colour are Anna's eyes?")
    pair = Neighbours([1.0, 0.0], [0.0, 1.0], Relation.REPLACE_ONE)
    lecture.say(
        """
        Now everybody knows that Anna was counted, and the question is the colour of her eyes. If they are brown
        instead of blue, one count falls by one and the other rises by one. Asked about this pair, the mechanism of
        chapter 2 refuses:
        """
    )
    try:
        audit(Laplace(CLAIM, n_queries=2, relation=Relation.ADD_REMOVE), pair, trials=TRIALS, seed=SEED)
    except RelationError as refusal:
        lecture.say(f"RelationError: {refusal}")
    lecture.say("And if the relation is renamed, with the sensitivity left as it was:")
    try:
        audit(Laplace(CLAIM, n_queries=2, relation=Relation.REPLACE_ONE), pair, trials=TRIALS, seed=SEED)
    except NeighboursError as refusal:
        lecture.say(f"NeighboursError: {refusal}")
    lecture.say(
        """
        Code that forgets to ask is easily written; the library keeps a specimen among its broken mechanisms. It adds
        the same noise of scale 10 and claims 0.1 for replaced people:
        """
    )
    careless = LaplaceForgottenSensitivity(CLAIM, sensitivity=2.0, n_queries=2, relation=Relation.REPLACE_ONE)
    result = audit(careless, pair, trials=TRIALS, seed=SEED)
    _show(lecture, result)
    lecture.say("Twice the claim, nearly. Nobody touched the noise: only the question changed.")
    return result


# %% [markdown]
# ## 4. The repair
#
# Say which relation is meant, and use its sensitivity: 2 for both counts under `replace_one`, so scale 20. Or, as the
# number of people is public under that relation, publish one count only: the other one follows.


# %%
def repair(lecture: Lecture) -> tuple[AuditResult, AuditResult]:
    """Scale 20 for both counts; scale 10 for one count."""
    lecture.chapter("4. Two repairs")
    both = audit(
        Laplace(CLAIM, sensitivity=2.0, n_queries=2, relation=Relation.REPLACE_ONE),
        Neighbours([1.0, 0.0], [0.0, 1.0], Relation.REPLACE_ONE),
        trials=TRIALS,
        seed=SEED,
    )
    one = audit(
        Laplace(CLAIM, relation=Relation.REPLACE_ONE),
        Neighbours(1.0, 0.0, Relation.REPLACE_ONE),
        trials=TRIALS,
        seed=SEED,
    )
    lecture.say("Both counts, with noise of scale 20:")
    _show(lecture, both)
    lecture.say("Or one count with noise of scale 10; the other follows, because the number of people is public:")
    _show(lecture, one)
    return both, one


def _show(lecture: Lecture, result: AuditResult) -> None:
    lecture.table(
        ["relation", "claimed", "epsilon is at least", "verdict"],
        [[result.relation, f"{result.claim:.4g}", f"{result.bound.epsilon:.4f}", result.verdict.value]],
    )


# %% [markdown]
# ## What to take home
#
# The claim was right; the relation was not. An epsilon without its relation is not a promise.


# %%
@dataclass(frozen=True)
class Findings:
    """Every number of the lecture."""

    scale: float
    added: AuditResult
    replaced: AuditResult
    both_repaired: AuditResult
    one_repaired: AuditResult


def main(out: Path | None = None) -> Findings:
    """Blue eyes: the same noise is 0.1-private or 0.2-private, depending on what neighbours are.

    Args:
        out: folder for the figure; None draws none.
    """
    lecture = Lecture(out=out)
    scale, added, replaced = the_counts(lecture), add_one(lecture), replace_one(lecture)
    found = Findings(scale, added, replaced, *repair(lecture))
    lecture.chapter("To take home")
    lecture.say("The claim was right, the relation was not. An epsilon without its relation is not a promise.")
    draw(lecture, found)
    return found


# %%
def draw(lecture: Lecture, found: Findings) -> None:
    """Four lower bounds next to the one claim."""
    title = f"Under replace_one the attack shows {found.replaced.bound.epsilon:.3f}, where {CLAIM:g} is claimed"
    lecture.panels(
        "add-or-replace",
        lambda ax: _draw_bounds(ax, found, title),
        title=title,
        description="Lower bounds on epsilon of noisy counts under two relations, next to the claim of 0.1.",
        size=(8.0, 3.2),
    )


def _draw_bounds(ax: Axes, found: Findings, title: str) -> None:
    names = ("add_remove, scale 10", "replace_one, scale 10", "replace_one, scale 20", "replace_one, one count")
    results = (found.added, found.replaced, found.both_repaired, found.one_repaired)
    for row, result in enumerate(results):
        colour = VIOLATION if result.verdict.value == "violation" else BOUND
        ax.plot([0.0, result.bound.epsilon], [row, row], color=colour.light, linewidth=7, solid_capstyle="butt")
        write(ax, max(result.bound.epsilon, CLAIM) + 0.003, row, f"{result.bound.epsilon:.3f}", colour, va="center")
    ax.axvline(CLAIM, color=CLAIM_COLOUR.light, linewidth=1.4, label=f"claim: epsilon = {CLAIM:g}")
    ax.set(xlim=(0.0, 0.23), ylim=(len(names) - 0.4, -0.6), yticks=range(len(names)), yticklabels=names)
    style_axes(ax, title=title, x="epsilon is at least", y="")
    ax.grid(False, axis="y")


# %%
if __name__ == "__main__":
    main()
