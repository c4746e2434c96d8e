# %% [markdown]
# # "Anonymous" medical visits
#
# A hospital takes the names off its records and publishes the rest. People are unique, groups are alike, two tables
# meet: three leaks, each shown on made-up people beside what would have been guessed anyway, and then what helps.
#
# Run the cells from top to bottom, or the whole lecture with `dpassay demo medical-visits`.

# %%
"""Visits without names: linked to a register, hidden in groups that are alike, intersected; and the cure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray

from ....attacks.linkage import (
    Beliefs,
    beliefs_from_counts,
    beliefs_from_groups,
    expected_unique_share,
    link,
    prior_beliefs,
    unique_share,
)
from ....audit.inference.gain import Gain, gain
from ....mechanisms.anonymity import Cells, banded, mondrian
from ...data.people import age_shares, people, place_sizes
from ...plots.style.canvas import EndLabel, end_labels, logarithmic, style_axes
from ...plots.style.palette import AMBER, BLUE, MUTED, VIOLATION
from ..lecture import Lecture

SEED = 1997
QUASI = ["zip", "age", "male"]
TARGETS, OTHERS = 400, 1_200
"""People in both hospitals, and people in one of them alone."""
EPSILON = 1.0
"""Of both hospitals together: half for each."""

# %% [markdown]
# ## 1. Without names
#
# Which columns tell 84,650 people in ten ZIP codes apart? Birth date and sex do for 86 in 100 in one of average size:
# the famous 87 %. But most people live where many people live, and there it is fewer.


# %%
def without_names(lecture: Lecture) -> dict[str, float]:
    """Share of people whom each set of columns tells apart."""
    table = people(n=84_650, spread=0.0, seed=SEED).assign(year=lambda t: t["born"].dt.year)
    ladder = {
        "ZIP, birth date, sex": ["zip", "born", "sex"],
        "ZIP, birth date": ["zip", "born"],
        "birth date, sex": ["born", "sex"],
        "ZIP, year of birth, sex": ["zip", "year", "sex"],
    }
    found = {name: unique_share(table, columns) for name, columns in ladder.items()}
    births = np.repeat(age_shares() / 730, 730)
    found["in places of real sizes"] = expected_unique_share(place_sizes(29_343), births)
    lecture.chapter("1. The names are gone")
    lecture.say(
        """
        A hospital publishes its visits without names: ZIP code, birth date, sex, illness. In ten places of 8,465
        people, the average of 1990, so many are the only ones with their values:
        """
    )
    lecture.table(["columns", "unique"], [[name, f"{found[name]:.1%}"] for name in ladder])
    lecture.say(
        f"""
        That is the famous 87 %. It is the share in a place of average size; most people live in larger ones, and with
        places of real sizes {found["in places of real sizes"]:.0%} are unique (Golle 2006 counts 61 % for 1990).
        Coarser values help, and quickly: the year of birth alone leaves next to nobody unique.
        """
    )
    return found


# %% [markdown]
# ## 2. A register with names
#
# A list of voters has names, and the same three columns. What counts is what it adds to a guess from age and sex.


# %%
@dataclass(frozen=True, eq=False)
class Town:
    """Who is in which table."""

    target: pd.DataFrame
    hospitals: tuple[pd.DataFrame, pd.DataFrame]
    elsewhere: tuple[pd.DataFrame, pd.DataFrame]
    rest: pd.DataFrame

    @property
    def truth(self) -> NDArray[np.object_]:
        """What is to be guessed."""
        return self.target["illness"].to_numpy(dtype=object)

    @property
    def prior(self) -> Beliefs:
        """What age and sex say of the illness, from other people."""
        return prior_beliefs(self.rest, "illness", self.target, ["band", "sex"])

    def gained(self, right: NDArray[np.bool_], without: NDArray[np.bool_]) -> Gain:
        """Over a guess from age and sex, and over the same attack without the people."""
        return gain(right, without_release=self.prior.right(self.truth), without_person=without)


def the_town() -> Town:
    """400 people who are in both hospitals, 1,200 others in each, and two hospitals that they were never in."""
    everybody = people(n=24_000, seed=SEED)
    everybody = everybody.assign(male=(everybody["sex"] == "male").astype(int), band=everybody["age"] // 10)
    cuts = np.cumsum([TARGETS, OTHERS, OTHERS, TARGETS + OTHERS, TARGETS + OTHERS])
    order = np.random.default_rng(SEED).permutation(len(everybody))
    target, first, second, third, fourth, rest = (everybody.iloc[part] for part in np.split(order, cuts))
    return Town(target, (pd.concat([target, first]), pd.concat([target, second])), (third, fourth), rest)


def beside(lecture: Lecture, found: Gain) -> None:
    """An attack beside what is guessed anyway."""
    rows = [["the attack", f"{found.attack.value:.1%}", "", ""]]
    for over in found.over:
        limits = f"{over.gain.lower:+.1%} to {over.gain.upper:+.1%}"
        rows.append([over.baseline, f"{over.success.value:.1%}", f"{over.gain.value:+.1%}", limits])
    lecture.table(["illnesses guessed right", "share", "gain of the attack", "95 % interval"], rows)


def the_register(lecture: Lecture, town: Town) -> Gain:
    """Illnesses of named people, by joining the visits to a register."""
    on = ["zip", "born", "sex"]
    register = pd.concat([town.target, town.rest])
    right = {}
    for name, visits in (("with", town.hospitals[0]), ("without", town.elsewhere[0])):
        person, guess = link(visits, register, on).match, town.prior.guess
        found_here = (person >= 0) & (person < TARGETS)
        guess[person[found_here]] = visits["illness"].to_numpy()[found_here]
        right[name] = guess == town.truth
    found = town.gained(right["with"], right["without"])
    lecture.chapter("2. A list of voters")
    lecture.say(
        f"""
        Voters are listed with name, ZIP code, birth date and sex. We join the lists, and read the illness of
        {TARGETS} people who were in the hospital. For those who are not found we guess from age and sex, and beside it
        stands what that guess is worth alone, and what comes out of a hospital that they were never in:
        """
    )
    beside(lecture, found)
    return found


# %% [markdown]
# ## 3. Groups
#
# k-anonymity blurs the columns until everybody shares them with k - 1 others. The names of the group are hidden; what
# they have in common is not.


# %%
HOSPITAL = pd.DataFrame(
    {
        "age": [51, 55, 34, 38, 33, 35, 62, 67],
        "male": [0, 0, 0, 0, 1, 1, 1, 1],
        "illness": ["asthma", "ulcer", "flu", "migraine", "HIV", "HIV", "cancer", "flu"],
    }
)


def the_groups(lecture: Lecture, town: Town) -> dict[int, float]:
    """Rebecca and Ted; and the share of people in groups with a single illness, against k."""
    small = banded(HOSPITAL, {"age": [30, 40, 50, 60, 70], "male": [0, 1, 2]}, "illness")
    lecture.chapter("3. Two of a kind")
    lecture.say("The next table is 2-anonymous: ages are decades, and nobody is alone.")
    shown = small.to_frame()
    lecture.table(list(shown.columns), shown.to_numpy().tolist())
    shares = {k: mondrian(town.hospitals[0], QUASI, "illness", k=k).constant_share for k in (2, 3, 5, 10)}
    lecture.say(
        """
        Rebecca is 55 and was there: asthma or ulcer, one of two out of six. Ted is 33: his group has one illness, and
        so has he. That nobody is unique does not help him. In the hospital of our town, with twenty illnesses, so many
        people are in such a group when the table is cut at medians (Mondrian):
        """
    )
    lecture.table(["k", "in a group with one illness"], [[str(k), f"{share:.1%}"] for k, share in shares.items()])
    return shares


# %% [markdown]
# ## 4. Two tables
#
# Each table may be as diverse as one likes. Somebody in two of them has an illness that is in both groups.


# %%
@dataclass(frozen=True)
class Row:
    """Share of illnesses that are guessed right at one k, and of those that are certain."""

    k: int
    one: float
    two: float
    certain: float
    gained: Gain

    @property
    def shares(self) -> tuple[float, ...]:
        """By guessing, with one table, with two, certain, and with two that lack the people."""
        guessed, without = (over.success.value for over in self.gained.over)
        return guessed, self.one, self.two, self.certain, without


def two_tables(lecture: Lecture, town: Town) -> list[Row]:
    """The intersection attack on two k-anonymous tables with three illnesses in each group at least."""
    rows = []
    for k in (3, 5, 10, 20):
        tables = [mondrian(t, QUASI, "illness", k=k, diversity=3) for t in (*town.hospitals, *town.elsewhere)]
        one, two, without = (
            beliefs_from_groups(some, town.target, town.prior) for some in (tables[:1], tables[:2], tables[2:])
        )
        right = two.right(town.truth)
        gained = town.gained(right, without.right(town.truth))
        rows.append(Row(k, float(one.right(town.truth).mean()), float(right.mean()), float(two.certain.mean()), gained))
    lecture.chapter("4. Two hospitals")
    lecture.say(
        f"""
        The {TARGETS} people were in a second hospital too, which publishes with the same k, and at least three
        illnesses in each group. Their illness is in both groups. Guessed right:
        """
    )
    lecture.table(
        ["k", "age and sex", "one table", "two tables", "certain", "two without them", "gain, at least"],
        [[str(row.k), *(f"{share:.1%}" for share in row.shares), f"{row.gained.headline.lower:+.1%}"] for row in rows],
    )
    lecture.say(
        """
        Neither hospital did anything wrong by its own rules. There is no rule of this kind that survives what others
        publish (Ganta, Kasiviswanathan and Smith 2008). And the tables without the people say nothing about them: what
        was found is theirs.
        """
    )
    return rows


# %% [markdown]
# ## 5. The cure
#
# The same two tables as counts in cells that are fixed beforehand, with noise: epsilon = 1/2 each, so 1 together,
# whatever else is published. Epsilon also limits somebody who knows everybody else in the table.


# %%
@dataclass(frozen=True)
class Cure:
    """What is guessed right from noisy tables, and how far the counts of illnesses are off."""

    gained: Gain
    informed: float
    error: float


def the_cure(lecture: Lecture, town: Town) -> Cure:
    """Both attacks on noisy tables; and what the tables are still good for."""
    rng = np.random.default_rng([SEED, 5])
    prior, zips = town.prior, list(range(10_000, 10_004))
    cells = Cells({"zip": zips, "age": [0, 20, 40, 60, 80, 100], "male": [0, 1, 2]}, "illness", prior.values)
    mechanism = cells.mechanism(EPSILON / 2)

    def published(tables: tuple[pd.DataFrame, pd.DataFrame]) -> list[tuple[NDArray[np.float64], float]]:
        noisy = [mechanism.release(cells.records(table), 1, rng).values[0] for table in tables]
        return [(cells.table(each), mechanism.rate) for each in noisy]

    cell, own = cells.cell(town.target), town.truth[:, None] == np.array(prior.values, dtype=object)
    exact = [cells.table(mechanism.answers(cells.records(table))) for table in town.hospitals]
    both = published(town.hospitals)
    guessed = beliefs_from_counts(both, cell, prior)
    without = beliefs_from_counts(published(town.elsewhere), cell, prior)
    informed = beliefs_from_counts(both, cell, prior, others=[table[cell] - own for table in exact])
    gained = town.gained(guessed.right(town.truth), without.right(town.truth))
    error = np.abs(both[0][0].sum(axis=0) - exact[0].sum(axis=0)).mean() / exact[0].sum(axis=0).mean()
    found = Cure(gained, float(informed.right(town.truth).mean()), float(error))
    lecture.chapter("5. Noise")
    lecture.say(
        """
        Now both hospitals publish counts in cells that were fixed before anybody was ill, with noise: epsilon = 1/2
        each, and so 1 together. The same attack:
        """
    )
    beside(lecture, found.gained)
    lecture.say(
        f"""
        Somebody who knows every other patient can do more, and no more than epsilon allows: {found.informed:.1%} right,
        where age and sex give {gained.over[0].success.value:.1%}; in the groups of before such a person reads every
        illness. And the hospital still learns what it wanted to know: counts of illnesses are off by {found.error:.0%}.
        """
    )
    return found


# %%
@dataclass(frozen=True)
class Findings:
    """Every number of the lecture."""

    unique: dict[str, float]
    linked: Gain
    constant: dict[int, float]
    rows: list[Row]
    cure: Cure


def main(out: Path | None = None) -> Findings:
    """Visits without names: linked to a list of voters, hidden in groups that are alike, intersected; and the cure.

    Args:
        out: folder for the figure; None draws none.
    """
    lecture, town = Lecture(out=out), the_town()
    found = Findings(
        without_names(lecture),
        the_register(lecture, town),
        the_groups(lecture, town),
        two_tables(lecture, town),
        the_cure(lecture, town),
    )
    lecture.chapter("To take home")
    lecture.say(
        """
        People were unique, then alike, then in two places: three leaks, and no cure of one cured the next. A promise
        about privacy has to hold whatever else is known, and to add up. Noise can do that; blurring cannot.
        """
    )
    draw(lecture, found)
    return found


# %%
def draw(lecture: Lecture, found: Findings) -> None:
    """Two panels: who is unique, and what is guessed right from groups and from noisy counts."""
    lecture.panels(
        "medical-visits",
        lambda ax: _draw_unique(ax, found),
        lambda ax: _draw_guesses(ax, found),
        title='"Anonymous" medical visits',
        description="Left: share of unique people by columns. Right: illnesses guessed right against k.",
        widths=[1, 1.3],
    )


def _draw_unique(ax: Axes, found: Findings) -> None:
    names = [name for name in found.unique if "," in name][::-1]
    shares = [100.0 * found.unique[name] for name in names]
    bars = ax.barh(range(len(names)), shares, color=BLUE.light, height=0.6)
    ax.bar_label(bars, fmt="%.1f %%", padding=4, fontsize=8.5)
    ax.set_yticks(range(len(names)), [name.replace(", ", ",\n", 1) for name in names])
    ax.set_xlim(0, 115)
    style_axes(ax, title="Few columns tell people apart", x="unique people, %", y="")


def _draw_guesses(ax: Axes, found: Findings) -> None:
    ks = [row.k for row in found.rows]
    cured = found.cure.gained.attack.value
    lines = [
        ("two tables", VIOLATION, [row.two for row in found.rows]),
        ("one table", AMBER, [row.one for row in found.rows]),
        ("two, with noise", BLUE, [cured] * len(ks)),
        ("age and sex", MUTED, [row.gained["without the release"].success.value for row in found.rows]),
    ]
    labels = []
    for name, colour, shares in lines:
        percent = [100.0 * share for share in shares]
        style = (0, (4, 3)) if colour is MUTED else "-"
        ax.plot(
            ks, percent, color=colour.light, linewidth=2, linestyle=style, marker="o" if len(set(shares)) > 1 else ""
        )
        labels.append(EndLabel(percent[-1], name, colour))
    logarithmic(ax.xaxis, min(ks) / 1.1, max(ks) * 1.1)
    ax.set_ylim(0, 100.0 * max(row.two for row in found.rows) * 1.15)
    style_axes(ax, title="Two anonymous tables meet", x="k of k-anonymity", y="illnesses guessed right, %")
    end_labels(ax, labels)


# %%
if __name__ == "__main__":
    main()
