"""The games, and one table of the words that describe each game.

    distinguishing    runs on either dataset of a pair       PairScores
    membership        a fair coin for each of many canaries  BitScores
    reconstruction    a secret is drawn, and guessed         Successes
      ... of bits     a fair coin for each of many records   BitScores

A result stores its game by name; tables, plots and reports take their words from this module.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ...mechanisms.core import plural


@dataclass(frozen=True)
class Trials:
    """Numbers of runs per side, or in total for a game without sides.

    Args:
        per_side: all runs.
        pilot: pilot runs, used to train the attack and to choose thresholds; never counted in a bound.
        evaluation: evaluation runs, which are counted.
        n_canaries: bits that are tossed in each run; None for a game without bits.
    """

    per_side: int
    pilot: int
    evaluation: int
    n_canaries: int | None = None


@dataclass(frozen=True)
class GameWords:
    """The words that describe a game in tables, plots and reports.

    Args:
        unit: plural noun for the counted trials, such as "runs".
        needed: template of a required number of trials, with `n` evaluation trials and `all` trials.
        setting: heading of the relation in a list of facts.
        relation: template that explains a relation, such as "{relation}: each is in the run, or not there at all"; None
            for the default.
        check: description of the test and of what contradicts the claim, a clause and a sentence for a report.
        assumes: assumptions on the evidence under which a bound holds, in sentences.
        member, other: names of a score of side 1, and of side 0.
        sides: names of both sides, for a caption; `legend`: side 0 and side 1.
        trials: template of the numbers in `Trials`.
        short_trials: short form of `trials`.
    """

    unit: str
    needed: str
    setting: str
    relation: str | None
    check: str
    assumes: str
    member: str
    other: str
    sides: str
    legend: tuple[str, str]
    trials: str
    short_trials: str


class Game(StrEnum):
    """The game that made the evidence: how randomness was arranged."""

    DISTINGUISHING = "distinguishing"
    MEMBERSHIP = "membership"
    RECONSTRUCTION = "reconstruction"
    RECONSTRUCTION_OF_BITS = "reconstruction-of-bits"

    @property
    def words(self) -> GameWords:
        """Words that describe the game."""
        return _GAME_WORDS[self]

    @property
    def independent_scores(self) -> bool:
        """True if the tally counts independent runs of two sides, so that bands and profiles can be drawn."""
        return self is Game.DISTINGUISHING

    @property
    def tosses_bits(self) -> bool:
        """True if a fair coin decides each of many bits, which the attack guesses."""
        return self in (Game.MEMBERSHIP, Game.RECONSTRUCTION_OF_BITS)

    @property
    def has_scores(self) -> bool:
        """True if the tally counts scores."""
        return self is not Game.RECONSTRUCTION

    def relation(self, name: str) -> str:
        """Return a short explanation of a relation in this game."""
        return (self.words.relation or "neighbours under {relation}").format(relation=name)

    def describe_trials(self, trials: Trials) -> str:
        """Return text such as "1,000 a side (100 pilot, 900 counted)" or "1 run with 500 canaries, ..."."""
        return self.words.trials.format(**_numbers(trials))

    def describe_needed(self, n: int, trials: Trials) -> str:
        """Return text such as "1,000 canaries in all"; with the same share of pilot trials as in `trials`."""
        whole = -(-n * trials.per_side // trials.evaluation) if trials.pilot else n
        text = self.words.needed if trials.pilot else self.words.needed.partition(" (")[0]
        return text.format(n=f"{n:,}", all=f"{whole:,}")

    def short_trials(self, trials: Trials) -> str:
        """Return the numbers of trials for a cell of a table: "1,000 a side" or "1 × 500 canaries"."""
        return self.words.short_trials.format(**_numbers(trials))


def _numbers(trials: Trials) -> dict[str, str]:
    numbers = {name: f"{value or 0:,}" for name, value in vars(trials).items()}
    counts = {"runs": trials.per_side, "rounds": trials.per_side, "bits": trials.n_canaries}
    words = {name: plural(n or 0, name.removesuffix("s")) for name, n in counts.items()}
    return numbers | words | {"canaries": plural(trials.n_canaries or 0, "canary", "canaries")}


_GAME_WORDS = {
    Game.DISTINGUISHING: GameWords(
        unit="runs",
        needed="{n} counted runs on each side ({all} with the pilot)",
        setting="Pair",
        relation=None,
        check="the program was run many times on two datasets that differ in one record, and an attack tried to "
        "distinguish the two kinds of run from the outputs alone. An attack that succeeds too often contradicts the "
        "promise.",
        assumes="The bounds assume that trials are independent: each draws new randomness, independently of the "
        "others. For mechanisms of the library this holds by construction, for user code it is tested; randomness that "
        "all runs share, and running times, are not tested.",
        member="A run with the record",
        other="one without it",
        sides="without the record (side 0) and with it (side 1),",
        legend=("side 0: without the record", "side 1: with it"),
        trials="{per_side} a side ({pilot} pilot, {evaluation} counted)",
        short_trials="{per_side} a side",
    ),
    Game.MEMBERSHIP: GameWords(
        unit="canaries",
        needed="{n} canaries in all",
        setting="Canaries",
        relation="{relation}: each is in the run, or not there at all",
        check="a coin was tossed for each of many canaries, the program was run with those that it put in, and an "
        "attack guessed the coins from the output. Guesses that are right too often contradict the promise.",
        assumes="The bounds assume that the bits are independent fair coins, each tossed before its run, and that no "
        "score depends on its bit. In games that the library runs this holds by construction.",
        member="A canary that was in",
        other="one that was out",
        sides="those that were out (side 0) and those that were in (side 1),",
        legend=("side 0: out", "side 1: in"),
        trials="{runs} with {canaries}, each in or out by the toss of a coin",
        short_trials="{per_side} × {canaries}",
    ),
    Game.RECONSTRUCTION: GameWords(
        unit="rounds",
        needed="{n} rounds",
        setting="Secret",
        relation="{relation}: drawn from a known prior, independently in each round, and guessed",
        check="a new secret was drawn in each of many rounds, the program was run once with it, and the secret was "
        "guessed from the output. A secret that is guessed too often, compared with guesses without the output, "
        "contradicts the promise.",
        assumes="The bounds assume that every round is a fresh secret from the known prior, a fresh run and one guess. "
        "In games that the library runs this holds by construction.",
        member="A guess with the output",
        other="one without it",
        sides="guesses,",
        legend=("without the output", "with it"),
        trials="{rounds}, each with a fresh secret, a fresh run and one guess",
        short_trials="{rounds}",
    ),
    Game.RECONSTRUCTION_OF_BITS: GameWords(
        unit="bits",
        needed="{n} bits in all",
        setting="Secret",
        relation="{relation}: each record has one of two values, by the toss of a coin",
        check="a coin was tossed for each of many records, the program was run with the values that the coins gave "
        "them, and an attack guessed the coins from the output. Guesses that are right too often contradict the "
        "promise.",
        assumes="The bounds assume that the bits are independent fair coins, each tossed before its run, that no score "
        "depends on its bit, and that runs draw independent randomness. In games that the library runs this holds by "
        "construction, or is tested.",
        member="A bit that was 1",
        other="one that was 0",
        sides="bits that were 0 (side 0) and bits that were 1 (side 1),",
        legend=("side 0: bit 0", "side 1: bit 1"),
        trials="{runs} with {bits}, each by the toss of a coin",
        short_trials="{per_side} × {bits}",
    ),
}
