# %% [markdown]
# # "Anonymous" medical visits
#
# A hospital removes the names from its records and publishes the rest. Three attacks, on unique people, homogeneous
# groups and the intersection of two tables, are compared with baseline guesses on synthetic people; then a defence.
#
# Run the cells from top to bottom, or the whole demo with `dpassay demo medical-visits`.

# %%
"""Medical visits without names: linkage, homogeneous groups, intersection of tables, and noisy counts as a defence."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray

from ....attacks.attribute_inference.linkage import (
    GroupBeliefs,
    beliefs_from_counts,
    beliefs_from_groups,
    expected_unique_share,
    link,
    prior_beliefs,
    unique_share,
)
from ....audit.metrics.gain import Gain, gain
from ....mechanisms.synthetic_data.anonymity import GeneralizedCells, global_recoding, mondrian
from ...data.people import age_shares, people, place_sizes
from ...report.plots.style import AMBER, BLUE, MUTED, VIOLATION, EndLabel, end_labels, logarithmic, style_axes
from ..demo import Demo

SEED = 1997
QUASI = ["zip", "age", "male"]
TARGETS, OTHERS = 400, 1_200
"""Numbers of people in both hospitals, and of people in only one of them."""
EPSILON = 1.0
"""Epsilon of both hospitals together, half for each."""

# %% [markdown]
# ## 1. Unique people
#
# Which columns identify 84,650 people in ten ZIP codes? Birth date and sex identify 86 of 100 people in a ZIP code of
# average size: the famous 87 %. But most people live in larger ZIP codes, where the share is smaller.


# %%
def without_names(demo: Demo) -> dict[str, float]:
    """Return the share of people whom each set of columns identifies uniquely."""
    table = people(n=84_650, spread=0.0, seed=SEED).assign(year=lambda t: t["born"].dt.year)
    ladder = {
        "ZIP, birth date, sex": ["zip", "born", "sex"],
        "ZIP, birth date": ["zip", "born"],
        "birth date, sex": ["born", "sex"],
        "ZIP, year of birth, sex": ["zip", "year", "sex"],
    }
    unique = {name: unique_share(table, columns) for name, columns in ladder.items()}
    births = np.repeat(age_shares() / 730, 730)
    unique["in places of real sizes"] = expected_unique_share(place_sizes(29_343), births)
    demo.chapter("1. Unique people")
    demo.say(
        """
        A hospital publishes its visits without names: ZIP code, birth date, sex, illness. In ten ZIP codes of 8,465
        people, the average of 1990, this share of people has a unique combination of values:
        """
    )
    demo.table(["columns", "unique"], [[name, f"{unique[name]:.1%}"] for name in ladder])
    demo.say(
        f"""
        This is the famous 87 %, the share in a ZIP code of average size. Most people live in larger ones, and with
        realistic sizes {unique["in places of real sizes"]:.0%} are unique (Golle 2006 reports 61 % for 1990).
        Coarser values reduce the share: with the year of birth only, almost no one is unique.
        """
    )
    return unique


# %% [markdown]
# ## 2. A register with names
#
# A voter register has names, and the same three columns. Only the gain over a guess from age and sex counts.


# %%
@dataclass(frozen=True, eq=False)
class Town:
    """People in each table."""

    target: pd.DataFrame
    hospitals: tuple[pd.DataFrame, pd.DataFrame]
    elsewhere: tuple[pd.DataFrame, pd.DataFrame]
    rest: pd.DataFrame

    @property
    def truth(self) -> NDArray[np.object_]:
        """Illnesses of the targets, `(TARGETS,)`."""
        return self.target["illness"].to_numpy(dtype=object)

    @property
    def prior(self) -> GroupBeliefs:
        """Prior beliefs about the illness given age and sex, estimated from other people."""
        return prior_beliefs(self.rest, "illness", self.target, ["band", "sex"])

    def gained(self, right: NDArray[np.bool_], without: NDArray[np.bool_]) -> Gain:
        """Return the gain over a guess from age and sex, and over the same attack without the people."""
        return gain(right, without_release=self.prior.correct(self.truth), without_person=without)


def the_town() -> Town:
    """Return a town: 400 people in both hospitals, 1,200 others in each, and two hospitals without the 400 people."""
    population = people(n=24_000, seed=SEED)
    population = population.assign(male=(population["sex"] == "male").astype(int), band=population["age"] // 10)
    cuts = np.cumsum([TARGETS, OTHERS, OTHERS, TARGETS + OTHERS, TARGETS + OTHERS])
    order = np.random.default_rng(SEED).permutation(len(population))
    target, first, second, third, fourth, rest = (population.iloc[part] for part in np.split(order, cuts))
    return Town(target, (pd.concat([target, first]), pd.concat([target, second])), (third, fourth), rest)


def print_gain(demo: Demo, result: Gain) -> None:
    """Print the success of an attack, compared with its baselines."""
    rows = [["the attack", f"{result.attack.value:.1%}", "", ""]]
    for over in result.over:
        limits = f"{over.gain.lower:+.1%} to {over.gain.upper:+.1%}"
        rows.append([over.baseline, f"{over.success.value:.1%}", f"{over.gain.value:+.1%}", limits])
    demo.table(["correctly guessed illnesses", "share", "gain of the attack", "95 % interval"], rows)


def the_register(demo: Demo, town: Town) -> Gain:
    """Infer the illnesses of named people by joining the visits with a register."""
    on = ["zip", "born", "sex"]
    register = pd.concat([town.target, town.rest])
    right = {}
    for name, visits in (("with", town.hospitals[0]), ("without", town.elsewhere[0])):
        person, guess = link(visits, register, on).match, town.prior.guess
        is_target = (person >= 0) & (person < TARGETS)
        guess[person[is_target]] = visits["illness"].to_numpy()[is_target]
        right[name] = guess == town.truth
    linkage_gain = town.gained(right["with"], right["without"])
    demo.chapter("2. A voter register")
    demo.say(
        f"""
        A voter register has name, ZIP code, birth date and sex. We join the tables, and obtain the illness of
        {TARGETS} people who were in the hospital. For people without a match we guess from age and sex. The baselines
        are this guess for all people, and the same attack on a hospital that does not contain them:
        """
    )
    print_gain(demo, linkage_gain)
    return linkage_gain


# %% [markdown]
# ## 3. Groups
#
# k-anonymity generalises the columns until each person shares them with k - 1 others. It hides the identity of people
# in a group, but not the values that they have in common.


# %%
HOSPITAL = pd.DataFrame(
    {
        "age": [51, 55, 34, 38, 33, 35, 62, 67],
        "male": [0, 0, 0, 0, 1, 1, 1, 1],
        "illness": ["asthma", "ulcer", "flu", "migraine", "HIV", "HIV", "cancer", "flu"],
    }
)


def the_groups(demo: Demo, town: Town) -> dict[int, float]:
    """Show a 2-anonymous table, and return the share of people in groups with a single illness, by k."""
    small = global_recoding(HOSPITAL, {"age": [30, 40, 50, 60, 70], "male": [0, 1, 2]}, "illness")
    demo.chapter("3. Homogeneous groups")
    demo.say("The next table is 2-anonymous: ages are decades, and every group has at least two people.")
    frame = small.to_frame()
    demo.table(list(frame.columns), frame.to_numpy().tolist())
    shares = {k: mondrian(town.hospitals[0], QUASI, "illness", k=k).constant_share for k in (2, 3, 5, 10)}
    demo.say(
        """
        Rebecca is 55 and in the table: she has asthma or an ulcer, two of six illnesses. Ted is 33: all people in his
        group have the same illness, so it is also his. k-anonymity does not protect him. In the hospital of our town,
        with twenty illnesses, this share of people is in such a group if the table is split at medians (Mondrian):
        """
    )
    demo.table(["k", "in a group with one illness"], [[str(k), f"{share:.1%}"] for k, share in shares.items()])
    return shares


# %% [markdown]
# ## 4. Two tables
#
# Even if each table is diverse, a person in two tables has an illness that occurs in both groups.


# %%
@dataclass(frozen=True)
class VisitsRow:
    """Shares of correctly guessed and of certain illnesses at one k."""

    k: int
    one: float
    two: float
    certain: float
    gained: Gain

    @property
    def shares(self) -> tuple[float, ...]:
        """Success by guessing, with one table, with two; share of certain illnesses; two tables without the people."""
        guessed, without = (over.success.value for over in self.gained.over)
        return guessed, self.one, self.two, self.certain, without


def two_tables(demo: Demo, town: Town) -> list[VisitsRow]:
    """Run the intersection attack on two k-anonymous tables with at least three illnesses in each group."""
    rows = []
    for k in (3, 5, 10, 20):
        tables = [mondrian(t, QUASI, "illness", k=k, diversity=3) for t in (*town.hospitals, *town.elsewhere)]
        one, two, without = (
            beliefs_from_groups(subset, town.target, town.prior) for subset in (tables[:1], tables[:2], tables[2:])
        )
        right = two.correct(town.truth)
        gained = town.gained(right, without.correct(town.truth))
        rows.append(
            VisitsRow(k, float(one.correct(town.truth).mean()), float(right.mean()), float(two.certain.mean()), gained)
        )
    demo.chapter("4. Two hospitals")
    demo.say(
        f"""
        The {TARGETS} people were also in a second hospital, which publishes with the same k, and at least three
        illnesses in each group. Their illness is in both groups. Share of correctly guessed illnesses:
        """
    )
    demo.table(
        ["k", "age and sex", "one table", "two tables", "certain", "two without them", "gain, lower limit"],
        [[str(row.k), *(f"{share:.1%}" for share in row.shares), f"{row.gained.headline.lower:+.1%}"] for row in rows],
    )
    demo.say(
        """
        Both hospitals follow the rules of k-anonymity. Such rules do not compose with other releases (Ganta,
        Kasiviswanathan and Smith 2008). Tables without the people reveal nothing about them: the gain is due to their
        records.
        """
    )
    return rows


# %% [markdown]
# ## 5. A defence
#
# The same two tables as noisy counts in cells fixed in advance: epsilon = 1/2 each, so 1 together, independent of other
# releases. Epsilon also limits an attacker who knows all other people in the table.


# %%
@dataclass(frozen=True)
class Cure:
    """Success of guesses from noisy tables, and the relative error of the counts of illnesses."""

    gained: Gain
    informed: float
    error: float


def the_cure(demo: Demo, town: Town) -> Cure:
    """Run both attacks on noisy tables, and measure the utility of the tables."""
    rng = np.random.default_rng([SEED, 5])
    prior, zips = town.prior, list(range(10_000, 10_004))
    cells = GeneralizedCells({"zip": zips, "age": [0, 20, 40, 60, 80, 100], "male": [0, 1, 2]}, "illness", prior.values)
    mechanism = cells.mechanism(EPSILON / 2)

    def published(tables: tuple[pd.DataFrame, pd.DataFrame]) -> list[tuple[NDArray[np.float64], float]]:
        noisy = [mechanism.release(cells.records(table), 1, rng).values[0] for table in tables]
        return [(cells.table(answers), mechanism.rate) for answers in noisy]

    cell, one_hot = cells.cell(town.target), town.truth[:, None] == np.array(prior.values, dtype=object)
    exact = [cells.table(mechanism.answers(cells.records(table))) for table in town.hospitals]
    both = published(town.hospitals)
    guessed = beliefs_from_counts(both, cell, prior)
    without = beliefs_from_counts(published(town.elsewhere), cell, prior)
    informed = beliefs_from_counts(both, cell, prior, others=[table[cell] - one_hot for table in exact])
    gained = town.gained(guessed.correct(town.truth), without.correct(town.truth))
    error = np.abs(both[0][0].sum(axis=0) - exact[0].sum(axis=0)).mean() / exact[0].sum(axis=0).mean()
    cure = Cure(gained, float(informed.correct(town.truth).mean()), float(error))
    demo.chapter("5. Noisy counts")
    demo.say(
        """
        Now both hospitals publish noisy counts in cells that are fixed independently of the data: epsilon = 1/2 each,
        and so 1 together. The same attack:
        """
    )
    print_gain(demo, cure.gained)
    demo.say(
        f"""
        An attacker who knows all other patients achieves more, within the limit of epsilon: {cure.informed:.1%}
        correct, compared with {gained.over[0].success.value:.1%} from age and sex; from the k-anonymous groups, such an
        attacker learns every illness. The tables remain useful: counts of illnesses have an error of {cure.error:.0%}.
        """
    )
    return cure


# %%
@dataclass(frozen=True)
class MedicalVisitsFindings:
    """Results of the demo."""

    unique: dict[str, float]
    linked: Gain
    constant: dict[int, float]
    rows: list[VisitsRow]
    cure: Cure


def main(out: Path | None = None) -> MedicalVisitsFindings:
    """Run the demo: linkage, homogeneous groups, intersection of tables, and noisy counts as a defence.

    Args:
        out: folder for the figure; None for no figure.
    """
    demo, town = Demo(out=out), the_town()
    findings = MedicalVisitsFindings(
        without_names(demo),
        the_register(demo, town),
        the_groups(demo, town),
        two_tables(demo, town),
        the_cure(demo, town),
    )
    demo.chapter("Conclusion")
    demo.say(
        """
        Unique people, homogeneous groups, two tables: a defence against one of these leaks does not prevent the next. A
        privacy guarantee has to hold for any background knowledge, and to compose. Noise can provide this;
        generalisation of values cannot.
        """
    )
    draw(demo, findings)
    return findings


# %%
def draw(demo: Demo, findings: MedicalVisitsFindings) -> None:
    """Draw two panels: unique people, and success of guesses from groups and from noisy counts."""
    demo.panels(
        "medical-visits",
        lambda ax: _draw_unique(ax, findings),
        lambda ax: _draw_guesses(ax, findings),
        title='"Anonymous" medical visits',
        description="Left: share of unique people by columns. Right: correctly guessed illnesses against k.",
        widths=[1, 1.3],
    )


def _draw_unique(ax: Axes, findings: MedicalVisitsFindings) -> None:
    names = [name for name in findings.unique if "," in name][::-1]
    shares = [100.0 * findings.unique[name] for name in names]
    bars = ax.barh(range(len(names)), shares, color=BLUE.light, height=0.6)
    ax.bar_label(bars, fmt="%.1f %%", padding=4, fontsize=8.5)
    ax.set_yticks(range(len(names)), [name.replace(", ", ",\n", 1) for name in names])
    ax.set_xlim(0, 115)
    style_axes(ax, title="Few columns identify people", x="unique people, %", y="")


def _draw_guesses(ax: Axes, findings: MedicalVisitsFindings) -> None:
    ks = [row.k for row in findings.rows]
    cured = findings.cure.gained.attack.value
    lines = [
        ("two tables", VIOLATION, [row.two for row in findings.rows]),
        ("one table", AMBER, [row.one for row in findings.rows]),
        ("two, with noise", BLUE, [cured] * len(ks)),
        ("age and sex", MUTED, [row.gained["without the release"].success.value for row in findings.rows]),
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
    ax.set_ylim(0, 100.0 * max(row.two for row in findings.rows) * 1.15)
    style_axes(
        ax, title="Intersection of two k-anonymous tables", x="k of k-anonymity", y="correctly guessed illnesses, %"
    )
    end_labels(ax, labels)


# %%
if __name__ == "__main__":
    main()
