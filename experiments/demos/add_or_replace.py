# %% [markdown]
# # Add or replace?
#
# What fraction of Canadians have blue eyes? We release two counts, of people with blue eyes and of people without, and
# add Laplace noise of scale 1/ε = 10 to each, for ε = 0.1. Is this noise sufficient? The answer depends on the
# neighbouring relation: how do two neighbouring datasets differ?
#
# Run the cells from top to bottom, or the whole demo with `dpassay demo add-or-replace`.

# %%
"""Two counts with Laplace noise under two neighbouring relations: the epsilon of one is twice that of the other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from ...audit import AuditResult, audit
from ...mechanisms import Laplace, Neighbours, Relation
from ...mechanisms.broken.noise import LaplaceUnitSensitivity
from ...mechanisms.core.errors import NeighboursError, RelationError
from ..report.plots.style import BOUND, CLAIM as CLAIM_COLOUR, VIOLATION, style_axes, write
from .demo import Demo

SEED = 30
TRIALS = 1_000_000
CLAIM = 0.1

# %% [markdown]
# ## 1. The mechanism
#
# The dataset is the pair of counts: (with blue eyes, without). The noise does not depend on the number of people:
# ±10 people out of forty million.


# %%
def the_counts(demo: Demo) -> float:
    """Make one noisy release, and return the scale of its noise."""
    mechanism = Laplace(CLAIM, n_queries=2, relation=Relation.ADD_REMOVE)
    truth = np.array([6_400_000.0, 33_600_000.0])
    released = mechanism.release(truth, 1, np.random.default_rng(SEED)).values[0]
    demo.chapter("1. Two counts and some noise")
    demo.say(
        """
        How many Canadians have blue eyes, and how many do not? We publish both counts with Laplace noise of scale
        1 / 0.1 = 10 on each, and claim epsilon = 0.1. For a country of forty million (with fictitious counts):
        """
    )
    rows = [[name, f"{t:,.0f}", f"{r:,.1f}"] for name, t, r in zip(("blue", "not blue"), truth, released, strict=True)]
    demo.table(["eyes", "true count", "published"], rows)
    demo.say("The error is about ten people for any population: large counts remain accurate.")
    return mechanism.scale


# %% [markdown]
# ## 2. One additional person
#
# Under `add_remove`, neighbours differ by the presence of one person. One of the two counts changes by one.


# %%
def add_one(demo: Demo) -> AuditResult:
    """Audit the mechanism under add_remove, where the claim is tight."""
    mechanism = Laplace(CLAIM, n_queries=2, relation=Relation.ADD_REMOVE)
    pair = Neighbours([0.0, 0.0], [1.0, 0.0], Relation.ADD_REMOVE)
    result = audit(mechanism, pair, trials=TRIALS, seed=SEED)
    demo.chapter("2. Is Anna in the census?")
    demo.say(
        """
        An attacker knows the eye colour of all people, but not whether Anna was counted. With her, one count is
        higher by one. A million runs on each side:
        """
    )
    _show(demo, result)
    demo.say("The lower bound is close to 0.1 and below it: the claim is consistent and tight.")
    return result


# %% [markdown]
# ## 3. Another eye colour
#
# Under `replace_one`, neighbours have the same number of people, and one person is replaced. If Anna's eyes are blue in
# one dataset and brown in the other, one count increases *and* the other decreases: the L1 distance is 2.


# %%
def replace_one(demo: Demo) -> AuditResult:
    """Audit the same noise under replace_one, where the claim of 0.1 is refuted."""
    demo.chapter("3. What colour are Anna's eyes?")
    pair = Neighbours([1.0, 0.0], [0.0, 1.0], Relation.REPLACE_ONE)
    demo.say(
        """
        Now the attacker knows that Anna was counted, and wants to learn her eye colour. If it is brown instead of
        blue, one count decreases by one and the other increases by one. The mechanism of chapter 2 rejects this pair:
        """
    )
    try:
        audit(Laplace(CLAIM, n_queries=2, relation=Relation.ADD_REMOVE), pair, trials=TRIALS, seed=SEED)
    except RelationError as refusal:
        demo.say(f"RelationError: {refusal}")
    demo.say("With the other relation, but the old sensitivity, it also rejects the pair:")
    try:
        audit(Laplace(CLAIM, n_queries=2, relation=Relation.REPLACE_ONE), pair, trials=TRIALS, seed=SEED)
    except NeighboursError as refusal:
        demo.say(f"NeighboursError: {refusal}")
    demo.say(
        """
        Code without this check is a common bug; the library has an example among its intentionally broken mechanisms.
        It adds the same noise of scale 10, and claims 0.1 for replaced people:
        """
    )
    broken = LaplaceUnitSensitivity(CLAIM, sensitivity=2.0, n_queries=2, relation=Relation.REPLACE_ONE)
    result = audit(broken, pair, trials=TRIALS, seed=SEED)
    _show(demo, result)
    demo.say("The lower bound is nearly twice the claim. The noise is the same: only the relation changed.")
    return result


# %% [markdown]
# ## 4. Corrections
#
# State the relation, and use its sensitivity: 2 for both counts under `replace_one`, which gives scale 20.
# Alternatively, publish one count only: the number of people is public under this relation, and determines the other.


# %%
def repair(demo: Demo) -> tuple[AuditResult, AuditResult]:
    """Audit both corrections: scale 20 for two counts, and scale 10 for one count."""
    demo.chapter("4. Two corrections")
    both = audit(
        Laplace(CLAIM, sensitivity=2.0, n_queries=2, relation=Relation.REPLACE_ONE),
        Neighbours([1.0, 0.0], [0.0, 1.0], Relation.REPLACE_ONE),
        trials=TRIALS,
        seed=SEED,
    )
    single = audit(
        Laplace(CLAIM, relation=Relation.REPLACE_ONE),
        Neighbours(1.0, 0.0, Relation.REPLACE_ONE),
        trials=TRIALS,
        seed=SEED,
    )
    demo.say("Both counts, with noise of scale 20:")
    _show(demo, both)
    demo.say("One count with noise of scale 10; the public number of people determines the other:")
    _show(demo, single)
    return both, single


def _show(demo: Demo, result: AuditResult) -> None:
    demo.table(
        ["relation", "claimed", "lower bound", "verdict"],
        [[result.relation, f"{result.claim:.4g}", f"{result.bound.epsilon:.4f}", result.verdict.value]],
    )


# %% [markdown]
# ## Conclusion
#
# The claim holds under one relation and fails under the other. An epsilon has no meaning without its relation.


# %%
@dataclass(frozen=True)
class AddOrReplaceFindings:
    """Results of the demo."""

    scale: float
    added: AuditResult
    replaced: AuditResult
    both_repaired: AuditResult
    one_repaired: AuditResult


def main(out: Path | None = None) -> AddOrReplaceFindings:
    """Run the demo: the same noise gives epsilon 0.1 or 0.2, depending on the neighbouring relation.

    Args:
        out: folder for the figure; None for no figure.
    """
    demo = Demo(out=out)
    scale, added, replaced = the_counts(demo), add_one(demo), replace_one(demo)
    findings = AddOrReplaceFindings(scale, added, replaced, *repair(demo))
    demo.chapter("Conclusion")
    demo.say(
        "The claim holds under one relation and fails under the other. An epsilon has no meaning without its relation."
    )
    draw(demo, findings)
    return findings


# %%
def draw(demo: Demo, findings: AddOrReplaceFindings) -> None:
    """Draw the four lower bounds and the claim."""
    title = f"Under replace_one, epsilon is at least {findings.replaced.bound.epsilon:.3f}; the claim is {CLAIM:g}"
    demo.panels(
        "add-or-replace",
        lambda ax: _draw_bounds(ax, findings, title),
        title=title,
        description="Lower bounds on epsilon of noisy counts under two relations, compared with the claim of 0.1.",
        size=(8.0, 3.2),
    )


def _draw_bounds(ax: Axes, findings: AddOrReplaceFindings, title: str) -> None:
    names = ("add_remove, scale 10", "replace_one, scale 10", "replace_one, scale 20", "replace_one, one count")
    results = (findings.added, findings.replaced, findings.both_repaired, findings.one_repaired)
    for row, result in enumerate(results):
        colour = VIOLATION if result.verdict.value == "violation" else BOUND
        ax.plot([0.0, result.bound.epsilon], [row, row], color=colour.light, linewidth=7, solid_capstyle="butt")
        write(ax, max(result.bound.epsilon, CLAIM) + 0.003, row, f"{result.bound.epsilon:.3f}", colour, va="center")
    ax.axvline(CLAIM, color=CLAIM_COLOUR.light, linewidth=1.4, label=f"claim: epsilon = {CLAIM:g}")
    ax.set(xlim=(0.0, 0.23), ylim=(len(names) - 0.4, -0.6), yticks=range(len(names)), yticklabels=names)
    style_axes(ax, title=title, x="lower bound on epsilon", y="")
    ax.grid(False, axis="y")


# %%
if __name__ == "__main__":
    main()
