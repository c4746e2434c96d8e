# %% [markdown]
# # Is this table anonymous? Three risks
#
# Data protection law considers three risks of an anonymous table: singling out a person, linking records of the same
# person, and inference of information about a person (Article 29 Working Party 2014). In this demo each is an attack on
# a synthetic table, compared with baseline guesses. Only the gain counts.

# %%
"""Singling out, linkability and attribute inference: a synthesiser that copies, compared with a private one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from ....attacks.attribute_inference.disclosure import AttributeDisclosure, Disclosure, Linkability, SinglingOut
from ....audit.metrics import Disclosed, disclosure
from ....audit.metrics.gain import PERSON, Rate
from ....mechanisms import Relation
from ....mechanisms.noise.queries.domain import Domain
from ....mechanisms.synthetic_data import FixedMarginals, GraphicalModel, SelectMeasureGenerate
from ...data.people import people
from ...report.plots.gain import SuccessByAttack
from ...report.plots.style import AMBER, BLUE, MUTED, style_axes
from ..demo import Demo

SEED = 2014
N_HALF = 400
"""Number of people in each of two halves of the town, and of people known to the attacker who are in no table."""
N_ATTACKED = 200
DOMAIN = Domain.of({"age": 100, "birthday": 367, "sex": 2, "place": 9, "illness": 20})
ORDERED = ("age", "birthday")
MARGINALS = (("sex", "illness"), ("age",), ("birthday",), ("place",))
DEVIATION = 2.0
"""Standard deviation of the noise of the private synthesiser. A replaced person changes two counts of each of four
marginals by one, so that mu is sqrt(8) / 2."""
AGES = ("under 20", "20 to 39", "40 to 64", "65 or more")
ATTACKS: Mapping[str, Disclosure] = {
    "singling out": SinglingOut(DOMAIN, ORDERED, n_columns=4),
    "linkability": Linkability(DOMAIN, ORDERED, first=("age", "sex", "place"), second=("birthday", "illness")),
    "inference": AttributeDisclosure(DOMAIN, ORDERED, secret="illness"),
}
PRIVATE = SelectMeasureGenerate(
    DOMAIN,
    FixedMarginals(MARGINALS, standard_deviation=DEVIATION, relation=Relation.REPLACE_ONE),
    GraphicalModel(),
    view="table",
    n_rows=N_HALF,
)

Records = NDArray[np.int64]


def copies(half: Records, rng: np.random.Generator) -> Records:
    """Return the output of a model that memorises its records: the records, in another order."""
    return rng.permutation(half)


def private(half: Records, rng: np.random.Generator) -> Records:
    """Return rows that fit noisy counts."""
    return np.asarray(PRIVATE.release(half, 1, rng).values[0])


def town() -> Records:
    """Return all people, `(3 * N_HALF, 5)` codes: age, birthday, sex, place, illness."""
    population = people(n=3 * N_HALF, seed=SEED)
    illness = np.unique(population["illness"], return_inverse=True)[1]
    place = np.random.default_rng(SEED).integers(0, 9, len(population))
    born = population["born"].dt.day_of_year
    return np.column_stack([population["age"], born, population["sex"] == "male", place, illness]).astype(np.int64)


# %% [markdown]
# ## 1. Attacks and baselines
#
# The people are split at random. A table is synthesised from each half, so that each half is the baseline "without the
# person" of the other: an attack on it learns only from other people.


# %%
def measured() -> dict[tuple[str, str], Disclosed]:
    """Return (synthesiser, attack) -> gain of the attack, over all people and over the people of each age."""
    population = town()
    halves, known = (population[:N_HALF], population[N_HALF : 2 * N_HALF]), population[2 * N_HALF :]
    ages = [np.array(AGES)[np.digitize(half[:, 0], (20, 40, 65))] for half in halves]
    disclosed = {}
    for synthesiser in (copies, private):
        rng = np.random.default_rng([SEED, 1])
        tables = (synthesiser(halves[0], rng), synthesiser(halves[1], rng))
        for risk, attack in ATTACKS.items():
            disclosed[synthesiser.__name__, risk] = disclosure(
                attack, tables, halves, known=known, groups=ages, n_attacked=N_ATTACKED, seed=SEED
            )
    return disclosed


def three_risks(demo: Demo) -> dict[tuple[str, str], Disclosed]:
    """Print the table of both synthesisers and three attacks, and return the results."""
    disclosed = measured()
    total = disclosed["copies", "inference"].overall
    demo.chapter("1. Attacks and baselines")
    demo.say(
        f"""
        A town: age, birthday, sex, place and illness of {2 * N_HALF} people, in two halves. Two synthesisers generate a
        table from each half. One memorises its people, and returns copies. The other is private: it counts sex with
        illness, ages, birthdays and places, adds noise, and draws rows that fit the noisy counts. The attacks:

          singling out   a description of a row of the table fits exactly one person
          linkability    match a record of (age, sex, place) with one of (birthday, illness)
          inference      all other attributes are known: infer the illness from the nearest rows

        The success rate alone is not evidence of a leak. Each attack is compared with two baselines: a guess without
        any table, and the same attack on the table of the other half, which does not contain the person. Only the gain
        over the better baseline is due to the table. Success rates over {total.n} people, in per cent, and the gain in
        percentage points:
        """
    )
    demo.table(["table, attack", "correct", "no table", "other half", "gain (95 %)"], _rows(disclosed))
    demo.say(
        """
        All three attacks gain from the copies; none has a significant gain from the private table, on which they
        succeed equally often without the person. Note the success rate without any table: some random descriptions fit
        exactly one person by chance.
        """
    )
    return disclosed


def _rows(disclosed: Mapping[tuple[str, str], Disclosed]) -> list[list[str]]:
    rows = []
    for (name, risk), result in disclosed.items():
        total = result.overall
        rates = [total.attack, *(over.success for over in total.over)]
        rows.append([f"{name}, {risk}", *(f"{100 * rate.value:.1f}" for rate in rates), points(total.headline)])
    return rows


def points(rate: Rate) -> str:
    """Format a gain in percentage points, with its interval."""
    return f"{100 * rate.value:+.0f} ({100 * rate.lower:+.0f} to {100 * rate.upper:+.0f})"


# %% [markdown]
# ## 2. The worst group
#
# A mean over people hides small groups. The intervals of all groups and of all people are simultaneous, so that the
# worst group may be selected after the measurement.


# %%
def worst_groups(demo: Demo, disclosed: Mapping[tuple[str, str], Disclosed]) -> None:
    """Print the group with the largest gain of each synthesiser and attack."""
    demo.chapter("2. The worst group")
    rows = []
    for (name, risk), result in disclosed.items():
        group, worst = result.worst
        rows.append([f"{name}, {risk}", points(result.overall.headline), group, points(worst.headline)])
    demo.table(["table, attack", "gain, all people", "worst age", "its gain"], rows)
    demo.say(
        """
        Groups are smaller, so that their intervals are wider: the five intervals of a row hold simultaneously with 95 %
        confidence. If the interval of the worst group contains 0, there is no evidence of a leak.
        """
    )


# %% [markdown]
# ## 3. What a guarantee allows
#
# The guarantee of the private table is for a person who is replaced by another. An attack with success probability p0
# without the person has success probability at most 1 - f(p0) with the person, on average over tables, where f is the
# trade-off curve; for mu-Gaussian differential privacy this is Phi(Phi^-1(p0) + mu).


# %%
def allowed(demo: Demo, disclosed: Mapping[tuple[str, str], Disclosed]) -> dict[str, float]:
    """Return attack -> largest gain that the guarantee allows, at the success rate measured without the person."""
    claim = PRIVATE.guarantee()
    largest_gain = {}
    for risk in ATTACKS:
        without = disclosed["private", risk].overall[PERSON].success
        p0 = np.linspace(without.lower, without.upper, 200)
        largest_gain[risk] = float((1.0 - claim.tradeoff(p0) - p0).max())
    demo.chapter("3. What a guarantee allows")
    demo.say(
        f"""
        The private synthesiser guarantees {claim}, for one person who is replaced by another. For every success rate
        without the person within its interval, no attack can gain more than the last column, in percentage points, on
        average over tables:
        """
    )
    gained = {risk: points(disclosed["private", risk].overall.headline) for risk in ATTACKS}
    rows = [[risk, gained[risk], f"{100 * largest_gain[risk]:+.0f}"] for risk in ATTACKS]
    demo.table(["attack", "measured gain (95 %)", "largest allowed gain"], rows)
    demo.say(
        """
        These attacks gain much less than the guarantee allows. This is no evidence for the guarantee: they are only
        three attacks on average people. An audit of the worst-case record tests the guarantee:
        dpassay run synthetic-epsilons.
        """
    )
    return largest_gain


# %%
@dataclass(frozen=True)
class DisclosureFindings:
    """Results of the demo.

    Args:
        disclosed: (synthesiser, attack) -> gain of the attack.
        allowed: attack -> largest gain that the guarantee of the private synthesiser allows.
    """

    disclosed: dict[tuple[str, str], Disclosed]
    allowed: dict[str, float]


def main(out: Path | None = None) -> DisclosureFindings:
    """Run the demo: singling out, linkability and inference on copies and on a private synthetic table.

    Args:
        out: folder for the figure; None for no figure.
    """
    demo = Demo(out=out)
    disclosed = three_risks(demo)
    worst_groups(demo, disclosed)
    findings = DisclosureFindings(disclosed, allowed(demo, disclosed))
    demo.chapter("Conclusion")
    demo.say(
        """
        Compare every attack with its success without the person. Report the worst group. And do not take the failure of
        an attack for a proof of privacy.
        """
    )
    draw(demo, findings)
    return findings


# %%
def draw(demo: Demo, findings: DisclosureFindings) -> None:
    """Draw two panels: the attacks with their baselines, and the gains for all people and for the worst group."""
    demo.panels(
        "disclosure",
        lambda ax: _draw_success(ax, findings),
        lambda ax: _draw_gains(ax, findings),
        title="Three risks of synthetic tables",
        description="Left: success rate of each attack, with both baselines. Right: the gain over the better baseline, "
        "for all people and for the worst group by age.",
        size=(12.0, 5.2),
    )


def _draw_success(ax: Axes, findings: DisclosureFindings) -> None:
    risks = SuccessByAttack({f"{name},\n{risk}": result.overall for (name, risk), result in findings.disclosed.items()})
    risks.plot(ax)
    style_axes(ax, title="Success rates of attacks and baselines", x="correct (% of people)", y="table, attack")


def _draw_gains(ax: Axes, findings: DisclosureFindings) -> None:
    for row, result in enumerate(findings.disclosed.values()):
        gains = {"all people": (result.overall, BLUE, "o"), "worst group by age": (result.worst[1], AMBER, "D")}
        for place, (label, (gain, colour, marker)) in enumerate(gains.items()):
            rate = gain.headline
            reach = [[100 * (rate.value - rate.lower)], [100 * (rate.upper - rate.value)]]
            ax.errorbar(
                [100 * rate.value],
                [0.12 - 0.24 * place - row],
                xerr=reach,
                fmt=marker,
                color=colour.light,
                capsize=3.0,
                linewidth=1.6,
                label=label if row == 0 else None,
            )
    ax.axvline(0.0, color=MUTED.light, linewidth=1.0, linestyle="--")
    names = [f"{name}, {risk}\n({result.worst[0]})" for (name, risk), result in findings.disclosed.items()]
    ax.set_yticks([-row for row in range(len(names))], names)
    ax.set_ylim(0.6 - len(names), 0.6)
    style_axes(
        ax,
        title="Gain over the better baseline",
        x="gain (percentage points)",
        y="table, attack (worst age)",
    )


# %%
if __name__ == "__main__":
    main()
