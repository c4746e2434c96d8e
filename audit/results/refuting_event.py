"""The deciding event of a violation in readable form: its rule in words, and example outputs of each side."""

from __future__ import annotations

from dataclasses import dataclass

from ...mechanisms.core import number

Outputs = tuple[str, ...]
NO_ANSWER = "no answer"
"""Beginning of the name of the attack of an audit whose event is that a call does not return."""


@dataclass(frozen=True)
class RefutingEvent:
    """An event whose counts contradict a claim.

    Args:
        rule: when an output is in the event, in words; empty where the attack has none. A rule that is close to the
            event says so, with its own counts in the evaluation runs.
        threshold: of the score.
        above: whether the event is {score >= threshold}, likelier on side 1, or {score < threshold}, likelier on
            side 0; of reversed scores each is likelier on the other side.
        outputs0, outputs1: its first outputs on each side, as text, at most three.
        where: the parts of the output that the rule names, without their values; empty where it names none.
    """

    rule: str
    threshold: float
    above: bool
    outputs0: Outputs
    outputs1: Outputs
    where: str = ""

    @property
    def name(self) -> str:
        """Description of the event by its score."""
        return f"score {'>=' if self.above else '<'} {number(self.threshold)}"


@dataclass(frozen=True)
class GuessedCanaries:
    """The canaries whose guesses refute a claim, by their ids; the surest guess, from the most extreme score, first.

    Args:
        right: ids of those that were guessed "in" and were in, or guessed "out" and were out.
        wrong: ids of the others.
    """

    right: Outputs
    wrong: Outputs


def points_to_side_1(hits: tuple[int, int], sizes: tuple[int, int]) -> bool:
    """Return whether {score >= threshold} is more significant than its complement.

    Args:
        hits: numbers of runs of side 0 and of side 1 that reach the threshold.
        sizes: runs of each side.

    >>> points_to_side_1((0, 50), (100, 100)), points_to_side_1((50, 100), (100, 100))
    (True, False)
    """
    (hit0, hit1), (n0, n1) = hits, sizes
    if hit1 * n0 < hit0 * n1:  # reversed: the event is likelier on side 0
        return points_to_side_1((hit1, hit0), (n1, n0))
    return ratio_of_rates((hit1, n1), (hit0, n0)) >= ratio_of_rates((n0 - hit0, n0), (n1 - hit1, n1))


def ratio_of_rates(likelier: tuple[int, int], other: tuple[int, int]) -> float:
    """Return the estimated ratio of two rates, each from (hits, runs)."""
    return (likelier[0] + 0.5) / (likelier[1] + 1.0) / ((other[0] + 0.5) / (other[1] + 1.0))
