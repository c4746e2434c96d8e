"""A witness: a finding without statistics, which contradicts a claim whatever the trials count.

    impossible output   an output of one side that the other side never gives. What only this side gives has probability
                        p > 0 here and 0 there, so that the true delta(epsilon) is at least p at every epsilon. Of p is
                        known only that it is not 0: refuted is what promises delta(infinity) = 0, such as pure,
                        Gaussian, concentrated and Renyi differential privacy. Where a claim leaves a delta > 0, this
                        is an event for a bound, which counts how often it happens
                        What makes it proof: the output law that the mechanism states. Who checks it: for mechanisms of
                        this library the tests; of any other, each trial, whose output the law must find possible on its
                        own side, and else nobody, which its `assumptions` say
    recorded            noise of a known law was added to values that lie a known distance apart: the true epsilon at
                        `delta` is a matter of arithmetic, and a claim that promises less is refuted. What makes it
                        proof: the recorded calls are all the randomness there is. Who checks it: the recording, which
                        runs again with equal primitives and must give equal outputs
    no randomness       each side gave the same output in every run, in fresh interpreters too, and these differ. A
                        finding, and no proof: entropy that a compiled library draws out of sight, and noise that was
                        drawn before the audit, look the same. It refutes nothing; the bounds decide

What is proof has no probability of a false alarm, where its `assumptions` hold.

Source: Dwork and Roth (2014), "The Algorithmic Foundations of Differential Privacy", definition 2.4, with the event in
the place of S.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from ...mechanisms.guarantees.base import Guarantee
from ...mechanisms.validation import delta_range

CERTAIN = math.nextafter(1.0, 0.0)
"""What an event of probability 1 exceeds: the largest delta below 1."""

NO_PROOF = "no claim by itself: chance that did not show, or noise that was drawn before, looks the same. Bounds decide"
"""What a finding contradicts that is no proof."""


class Kind(StrEnum):
    """How a witness was found."""

    IMPOSSIBLE_OUTPUT = "impossible output"
    NO_RANDOMNESS = "no randomness"
    RECORDED = "recorded"

    @property
    def is_proof(self) -> bool:
        """Whether it refutes a claim by itself."""
        return self is not Kind.NO_RANDOMNESS


@dataclass(frozen=True, kw_only=True)
class Witness:
    """Shown without statistics: the mechanism is not (e, d)-DP for any e < `epsilon` and any d <= `delta`.

    Build one with `Witness.against`, which compares it with the claim.

    Args:
        kind: how it was found.
        what: what was seen, a sentence.
        epsilon: > 0; inf where one side does what the other cannot.
        delta: in [0, 1); with an infinite epsilon, what the probability of that event exceeds.
        refutes: whether the claim promises what was shown not to hold.
        contradicts: what it contradicts, a clause; of a claim that it leaves alone, why.
        outputs: some outputs of side 0 and of side 1, or what was recorded there, as a person reads them.
        datasets: of side 0 and side 1, as JSON; None where they have no such form, or are long.
        seeds: of the runs that gave the outputs; empty where any seed gives them.
        again: how to see it again, a sentence.
        assumptions: what has to be true besides, a sentence each.

    Raises:
        ParameterError: a delta outside of [0, 1).

    Example:
        >>> from dpassay.mechanisms.guarantees import ApproximateDP, PureDP
        >>> seen = {"kind": Kind.IMPOSSIBLE_OUTPUT, "what": "side 1 gave 7.", "outputs": ((), ("7.0",))}
        >>> against = [Witness.against(claim, **seen) for claim in (PureDP(1.0), ApproximateDP(1.0, 1e-6))]
        >>> [witness.refutes for witness in against]
        [True, False]
        >>> against[1].contradicts
        'no claim that leaves a delta of 1e-06 at every epsilon'
    """

    kind: Kind
    what: str
    epsilon: float
    delta: float
    refutes: bool
    contradicts: str
    outputs: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    datasets: tuple[str, str] | None = None
    seeds: tuple[int, ...] = ()
    again: str = ""
    assumptions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        delta_range(delta=self.delta)

    @classmethod
    def against(
        cls,
        claim: Guarantee,
        *,
        kind: Kind,
        what: str,
        epsilon: float = math.inf,
        delta: float = 0.0,
        outputs: tuple[tuple[str, ...], tuple[str, ...]] = ((), ()),
        datasets: tuple[str, str] | None = None,
        seeds: tuple[int, ...] = (),
        again: str = "",
        assumptions: tuple[str, ...] = (),
    ) -> Witness:
        """The witness next to what `claim` promises; the arguments are those above."""
        refutes, contradicts = _compared(claim, epsilon, delta) if kind.is_proof else (False, NO_PROOF)
        return cls(
            kind=kind,
            what=what,
            epsilon=float(epsilon),
            delta=float(delta),
            refutes=refutes,
            contradicts=contradicts,
            outputs=outputs,
            datasets=datasets,
            seeds=seeds,
            again=again,
            assumptions=assumptions,
        )

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.what}"


def _compared(claim: Guarantee, epsilon: float, delta: float) -> tuple[bool, str]:
    """Whether `claim` promises (e, d)-DP for some e < `epsilon` and d <= `delta`; and what is contradicted, in words.

    With an infinite epsilon the claim is refuted where its delta tends to `delta` or less: the event has more.
    """
    if math.isfinite(epsilon):
        claimed = float(claim.epsilon(delta))
        if claimed < epsilon:
            return True, f"every claim below epsilon = {epsilon:.6g} at delta = {delta:g}, such as {claimed:.6g}"
        return False, f"no claim of epsilon = {epsilon:.6g} at delta = {delta:g}, and {claimed:.6g} is claimed"
    left = float(claim.delta(math.inf))
    if left > delta:
        return False, f"no claim that leaves a delta of {left:g} at every epsilon"
    limit = "= 0" if delta == 0.0 else f"<= {delta:g}"
    return True, f"every claim with delta {limit}, and every one whose delta falls to that as epsilon grows"


__all__ = ["CERTAIN", "Kind", "Witness"]
