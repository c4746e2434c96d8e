"""A witness: a finding without statistics, which contradicts a claim independently of the counts of trials.

    impossible output   an output of one side that the other side never gives. The set of such outputs has probability
                        p > 0 on one side and 0 on the other, so the true delta(epsilon) is at least p at every epsilon.
                        Only p > 0 is known: this refutes claims with delta(infinity) = 0, such as pure, Gaussian,
                        concentrated and Renyi differential privacy. For a claim with a remaining delta > 0, the event
                        is evidence for a bound, which counts its hits.
                        Proof: the output distribution that the mechanism states. Checked: for mechanisms of this
                        library by the tests; for others by each trial, whose output must be possible on its side under
                        this distribution; the rest is stated in `assumptions`
    recorded            noise of a known distribution was added to values at a known distance: the true epsilon at
                        `delta` follows by arithmetic, and a smaller claim is refuted. Proof: the recorded calls are all
                        the randomness. Checked: by a second recording, which repeats the primitives and must give equal
                        outputs
    no randomness       each side gave the same output in every run, in fresh interpreters too, and the two differ. A
                        finding, not a proof: hidden entropy of a compiled library, and noise that was drawn before the
                        audit, have the same effect. It refutes nothing; the bounds decide

A proof has no probability of a false alarm, if its `assumptions` hold.

Source: Dwork and Roth (2014), "The Algorithmic Foundations of Differential Privacy", definition 2.4, with the event as
the set S.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from ....mechanisms.core import Delta, Guarantee, Neighbours, check_fields, number

CERTAIN_DELTA = math.nextafter(1.0, 0.0)
"""Largest delta below 1, which an event of probability 1 exceeds."""

NOT_A_PROOF = "no claim by itself: hidden randomness or noise drawn beforehand has the same effect; the bounds decide"
"""Value of `contradicts` for a finding that is not a proof."""


class WitnessKind(StrEnum):
    """Kind of a witness."""

    IMPOSSIBLE_OUTPUT = "impossible output"
    NO_RANDOMNESS = "no randomness"
    RECORDED = "recorded"

    @property
    def is_proof(self) -> bool:
        """True if a witness of this kind refutes a claim by itself."""
        return self is not WitnessKind.NO_RANDOMNESS


@dataclass(frozen=True, kw_only=True)
class Witness:
    """Finding without statistics: the mechanism is not (e, d)-DP for any e < `epsilon` and any d <= `delta`.

    Build a witness with `Witness.against`, which compares it to the claim.

    Args:
        kind: kind of the finding.
        what: the observation, a sentence.
        epsilon: > 0; inf if one side has an output that the other cannot give.
        delta: in [0, 1); with an infinite epsilon, the probability of that event exceeds `delta`.
        refutes: whether the finding refutes the claim.
        contradicts: the claims that the finding contradicts, a clause; if it does not refute the claim, the reason.
        outputs: example outputs of side 0 and of side 1, or recorded values, as readable text.
        datasets: of side 0 and side 1, as JSON; None where they have no such form, or are long.
        seeds: of the runs that gave the outputs; empty if every seed gives them.
        again: how to reproduce the finding, a sentence.
        assumptions: conditions of the finding, a sentence each.

    Raises:
        ParameterError: a delta outside of [0, 1).

    Example:
        >>> from dpassay.mechanisms.accounting import ApproximateDP, PureDP
        >>> finding = {"kind": WitnessKind.IMPOSSIBLE_OUTPUT, "what": "side 1 gave 7.", "outputs": ((), ("7.0",))}
        >>> against = [Witness.against(claim, **finding) for claim in (PureDP(1.0), ApproximateDP(1.0, 1e-6))]
        >>> [witness.refutes for witness in against]
        [True, False]
        >>> against[1].contradicts
        'no claim that leaves a delta of 1e-6 at every epsilon'
    """

    kind: WitnessKind
    what: str
    epsilon: float
    delta: Delta
    refutes: bool
    contradicts: str
    outputs: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    datasets: tuple[str, str] | None = None
    seeds: tuple[int, ...] = ()
    again: str = ""
    assumptions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_fields(self)

    @classmethod
    def against(
        cls, claim: Guarantee, *, kind: WitnessKind, epsilon: float = math.inf, delta: float = 0.0, **described: Any
    ) -> Witness:
        """Return the witness, compared to `claim`; the arguments are those of the class."""
        refutes, contradicts = _compared(claim, epsilon, delta) if kind.is_proof else (False, NOT_A_PROOF)
        return cls(
            kind=kind, epsilon=float(epsilon), delta=float(delta), refutes=refutes, contradicts=contradicts, **described
        )

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.what}"


def _compared(claim: Guarantee, epsilon: float, delta: float) -> tuple[bool, str]:
    """Return whether `claim` states (e, d)-DP for some e < `epsilon` and d <= `delta`, and the contradicted claims.

    With an infinite epsilon the claim is refuted if its delta tends to `delta` or less: the event has more.
    """
    if math.isfinite(epsilon):
        claimed = float(claim.epsilon(delta))
        if claimed < epsilon:
            return (
                True,
                f"every claim below epsilon = {number(epsilon)} at delta = {number(delta)}, such as {number(claimed)}",
            )
        return (
            False,
            f"no claim of epsilon = {number(epsilon)} at delta = {number(delta)}, and {number(claimed)} is claimed",
        )
    remaining = float(claim.delta(math.inf))
    if remaining > delta:
        return False, f"no claim that leaves a delta of {number(remaining)} at every epsilon"
    limit = "= 0" if delta == 0.0 else f"<= {number(delta)}"
    return True, f"every claim with delta {limit}, and every one whose delta falls to that as epsilon grows"


MAX_DATASET_LENGTH = 20_000
"""Largest number of characters of a dataset in a result."""


class NoJSONError(TypeError):
    """A value that JSON cannot represent."""


def as_json(neighbours: Neighbours) -> tuple[str, str] | None:
    """Return both datasets as JSON; None if either has no lossless JSON form, or is long.

    Arrays of numbers become lists; the checker passes them as arrays again, like `dpassay check`.

    Example:
        >>> as_json(Neighbours(np.array([1, 0]), np.array([1, 0, 1]), "add_remove"))
        ('[1, 0]', '[1, 0, 1]')
        >>> as_json(Neighbours({1, 2}, {1, 2, 3}, "add_remove")) is None
        True
    """
    try:
        d0, d1 = (json.dumps(_plain(neighbours.side(side)), allow_nan=False) for side in (0, 1))
    except (NoJSONError, ValueError, RecursionError):
        return None
    return None if max(len(d0), len(d1)) > MAX_DATASET_LENGTH else (d0, d1)


def _plain(data: Any) -> Any:
    """Return `data` as JSON values; raise `NoJSONError` if it has no such form."""
    if isinstance(data, np.ndarray) and data.dtype.kind in "biuf" and data.size <= MAX_DATASET_LENGTH:
        return _plain(data.tolist())
    if isinstance(data, np.generic) and data.dtype.kind in "biuf":
        return _plain(data.item())
    if type(data) is list and len(data) <= MAX_DATASET_LENGTH:
        return [_plain(item) for item in data]
    if type(data) is dict and all(type(name) is str for name in data):
        return {name: _plain(item) for name, item in data.items()}
    if data is None or type(data) in (bool, int, str) or (type(data) is float and math.isfinite(data)):
        return data
    raise NoJSONError(type(data).__name__)
