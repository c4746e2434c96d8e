# %% [markdown]
# # Is this table anonymous? Three risks
#
# Data protection law asks three questions of a table that is called anonymous: can somebody be singled out, can records
# of the same person be linked, can something be inferred about a person (Article 29 Working Party 2014)? Here each is
# an attack on a synthetic table, beside what can be guessed anyway. Only the gain counts.

# %%
"""Singling out, linkability and attribute inference: a synthesiser that copies, beside one that is private."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from ....attacks.synthesis.disclosure import AttributeDisclosure, Disclosure, Linkability, SinglingOut
from ....audit.inference import Disclosed, disclosure
from ....audit.inference.gain import PERSON, Rate
from ....mechanisms import Relation
from ....mechanisms.queries.domain import Domain
from ....mechanisms.synthesis import FixedMarginals, GraphicalModel, SelectMeasureGenerate
from ...data.people import people
from ...plots.inference import RiskByAttack
from ...plots.style.canvas import style_axes
from ...plots.style.palette import AMBER, BLUE, MUTED
from ..lecture import Lecture

SEED = 2014
N_HALF = 400
"""People in each of two halves of the town; as many again are known to the attacker, and are in no table."""
N_ATTACKED = 200
DOMAIN = Domain.of({"age": 100, "birthday": 367, "sex": 2, "place": 9, "illness": 20})
ORDERED = ("age", "birthday")
MARGINALS = (("sex", "illness"), ("age",), ("birthday",), ("place",))
DEVIATION = 2.0
"""Of the noise on each count of the private synthesiser. Who is replaced moves two counts of each of four marginals by
one, so that mu is sqrt(8) / 2."""
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
    """What a model that knows its records by heart gives back: the records, in another order."""
    return rng.permutation(half)


def private(half: Records, rng: np.random.Generator) -> Records:
    """Rows that fit noisy counts."""
    return np.asarray(PRIVATE.release(half, 1, rng).values[0])


def town() -> Records:
    """Everybody, `(3 * N_HALF, 5)` codes: age, birthday, sex, place, illness."""
    found = people(n=3 * N_HALF, seed=SEED)
    illness = np.unique(found["illness"], return_inverse=True)[1]
    place = np.random.default_rng(SEED).integers(0, 9, len(found))
    born = found["born"].dt.day_of_year
    return np.column_stack([found["age"], born, found["sex"] == "male", place, illness]).astype(np.int64)


# %% [markdown]
# ## 1. The attack, and what is guessed anyway
#
# The people are split at random. A table is made of each half, so that each is the other one's "without the person":
# what an attack finds there about somebody, it has learned from other people.


# %%
def measured() -> dict[tuple[str, str], Disclosed]:
    """(synthesiser, attack) -> what the attack gains, over everybody and over the people of each age."""
    everybody = town()
    halves, known = (everybody[:N_HALF], everybody[N_HALF : 2 * N_HALF]), everybody[2 * N_HALF :]
    ages = [np.array(AGES)[np.digitize(half[:, 0], (20, 40, 65))] for half in halves]
    found = {}
    for synthesiser in (copies, private):
        rng = np.random.default_rng([SEED, 1])
        tables = (synthesiser(halves[0], rng), synthesiser(halves[1], rng))
        for risk, attack in ATTACKS.items():
            found[synthesiser.__name__, risk] = disclosure(
                attack, tables, halves, known=known, groups=ages, n_attacked=N_ATTACKED, seed=SEED
            )
    return found


def three_risks(lecture: Lecture) -> dict[tuple[str, str], Disclosed]:
    """The table of both synthesisers and three attacks."""
    found = measured()
    one = found["copies", "inference"].everybody
    lecture.chapter("1. The attack, and what is guessed anyway")
    lecture.say(
        f"""
        A town: age, birthday, sex, place and illness of {2 * N_HALF} people, in two halves. Two synthesisers make a
        table of each half. One has learned its people by heart, and gives back copies. The other is private: it counts
        sex with illness, ages, birthdays and places, adds noise, and draws rows that fit the noisy counts. Then
        somebody attacks:

          singling out   a description that fits a row of the table fits one person, and nobody else
          linkability    one party knows age, sex, place, another birthday, illness: who is who?
          inference      everything but the illness is known: the nearest rows tell it

        Being right is not enough. Beside each attack stand two guesses without it: what is guessed of a person without
        any table, and the same attack on the table of the other half, in which the person is not. Only what is gained
        over the better of both is the fault of the table. Right about how many of {one.n} people, in per cent,
        and the gain in percentage points:
        """
    )
    lecture.table(["table, attack", "right", "no table", "other half", "gain (95 %)"], _rows(found))
    lecture.say(
        """
        The copies give people away by all three, the private table by none that could be shown: what it is right about,
        it is right about without the person too. And note how often a guess without any table is right: of so many
        random descriptions, some fit one person alone.
        """
    )
    return found


def _rows(found: Mapping[tuple[str, str], Disclosed]) -> list[list[str]]:
    rows = []
    for (name, risk), one in found.items():
        each = one.everybody
        rates = [each.attack, *(over.success for over in each.over)]
        rows.append([f"{name}, {risk}", *(f"{100 * rate.value:.1f}" for rate in rates), points(each.headline)])
    return rows


def points(rate: Rate) -> str:
    """A gain in percentage points, with its interval."""
    return f"{100 * rate.value:+.0f} ({100 * rate.lower:+.0f} to {100 * rate.upper:+.0f})"


# %% [markdown]
# ## 2. The worst group
#
# A mean over people hides the few. The intervals of all groups and of everybody hold together, so that the worst group
# may be picked after looking.


# %%
def worst_groups(lecture: Lecture, found: Mapping[tuple[str, str], Disclosed]) -> None:
    """The group that loses most under each synthesiser and attack."""
    lecture.chapter("2. The worst group")
    rows = []
    for (name, risk), one in found.items():
        group, worst = one.worst
        rows.append([f"{name}, {risk}", points(one.everybody.headline), group, points(worst.headline)])
    lecture.table(["table, attack", "gain, everybody", "worst age", "its gain"], rows)
    lecture.say(
        """
        Groups are smaller, and so their intervals are longer: all five of a row are right together with 95 %. A worst
        group whose interval holds 0 is no finding; somebody always comes last.
        """
    )


# %% [markdown]
# ## 3. What a guarantee allows
#
# The private table keeps its promise for a person who is replaced by another. An attack that is right with probability
# p0 without the person is right with at most 1 - f(p0) with it, on average over tables, where f is the trade-off curve;
# for mu-Gaussian differential privacy that is Phi(Phi^-1(p0) + mu).


# %%
def allowed(lecture: Lecture, found: Mapping[tuple[str, str], Disclosed]) -> dict[str, float]:
    """Attack -> the largest gain that the guarantee allows, at the success measured without the person."""
    claim = PRIVATE.guarantee()
    most = {}
    for risk in ATTACKS:
        without = found["private", risk].everybody[PERSON].success
        p0 = np.linspace(without.lower, without.upper, 200)
        most[risk] = float((1.0 - claim.tradeoff(p0) - p0).max())
    lecture.chapter("3. What a guarantee allows")
    lecture.say(
        f"""
        The private synthesiser promises {claim}, for one person who is replaced by another. At any success without the
        person that its interval holds, no attack at all can gain more than this, in percentage points, on average
        over tables:
        """
    )
    gained = {risk: points(found["private", risk].everybody.headline) for risk in ATTACKS}
    rows = [[risk, gained[risk], f"{100 * most[risk]:+.0f}"] for risk in ATTACKS]
    lecture.table(["attack", "gain found (95 %)", "most that is allowed"], rows)
    lecture.say(
        """
        These attacks find far less than is allowed. That is no evidence for the guarantee: they are three attacks, and
        people are average. What holds against every attack is the guarantee, and what tests it is an audit of the worst
        record: dpassay run synthetic-epsilons.
        """
    )
    return most


# %%
@dataclass(frozen=True)
class Findings:
    """Every number of the lecture.

    Args:
        disclosed: (synthesiser, attack) -> what the attack gains.
        allowed: attack -> the most that the guarantee of the private synthesiser allows.
    """

    disclosed: dict[tuple[str, str], Disclosed]
    allowed: dict[str, float]


def main(out: Path | None = None) -> Findings:
    """Is this table anonymous: singling out, linkability and inference, by copies and by a private synthesiser.

    Args:
        out: folder for the figure; None draws none.
    """
    lecture = Lecture(out=out)
    disclosed = three_risks(lecture)
    worst_groups(lecture, disclosed)
    found = Findings(disclosed, allowed(lecture, disclosed))
    lecture.chapter("To take home")
    lecture.say(
        """
        Ask of every attack what it would find without the person. Ask who the worst group is. And do not take an attack
        that finds nothing for a proof.
        """
    )
    draw(lecture, found)
    return found


# %%
def draw(lecture: Lecture, found: Findings) -> None:
    """Two panels: the attacks beside their baselines, and the gains of everybody and of the worst group."""
    lecture.panels(
        "disclosure",
        lambda ax: _draw_success(ax, found),
        lambda ax: _draw_gains(ax, found),
        title="Three risks of synthetic tables",
        description="Left: people about whom each attack is right, beside both baselines. Right: the gain over the "
        "better baseline, of everybody and of the worst group by age.",
        size=(12.0, 5.2),
    )


def _draw_success(ax: Axes, found: Findings) -> None:
    risks = RiskByAttack({f"{name},\n{risk}": one.everybody for (name, risk), one in found.disclosed.items()})
    risks.plot(ax)
    style_axes(ax, title="Right about how many people?", x="right (% of people)", y="table, attack")


def _draw_gains(ax: Axes, found: Findings) -> None:
    for row, one in enumerate(found.disclosed.values()):
        shown = {"everybody": (one.everybody, BLUE, "o"), "worst group by age": (one.worst[1], AMBER, "D")}
        for place, (label, (each, colour, marker)) in enumerate(shown.items()):
            rate = each.headline
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
    names = [f"{name}, {risk}\n({one.worst[0]})" for (name, risk), one in found.disclosed.items()]
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
