"""Recordings of a program on both sides of a pair, and their findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...mechanisms.accounting import ConcentratedDP, PureDP, compose, to_concentrated
from ...mechanisms.adapters.functions.guard import short_repr
from ...mechanisms.adapters.recording import PrimitiveCall, Tape
from ...mechanisms.adapters.recording.charges import input_change
from ...mechanisms.adapters.recording.noisy import RELATIVE_TOLERANCE
from ...mechanisms.adapters.recording.tape import CHOICE_PRIMITIVES, SOURCES
from ...mechanisms.core import AccountingError, Floats, Guarantee, PrivacyViolation, number, plural
from .leaves import Leaves, changes, equal_outputs

Element = tuple[int, int] | None
"""A noise value: the index of its call and its index within the call; None for all others together."""
CLAIM_TOLERANCE = 1e-6
"""Relative excess over a claim that counts as rounding: claims are written with a few digits, and privacy maps round up
(OpenDP returns 1.000000009 for Laplace noise of scale 1). It multiplies odds by at most exp(1e-6 epsilon)."""
DECISION_PRIMITIVES = frozenset(
    {"random", "uniform", "random_sample", "rand", "binomial", "choice", "integers", "randint", "bytes"}
)
"""Primitives for random decisions rather than noise: their influence on an output is not measured by shifts."""


@dataclass(frozen=True, eq=False)
class Finding:
    """One difference between the sides that violates the claim.

    Args:
        kind: "control flow", "parameters", "distance", "no noise", "hidden randomness" or "spent".
        text: the finding as a sentence.
        call: index of the primitive, from 0; None for a finding on all primitives.
    """

    kind: str
    text: str
    call: int | None = None

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


@dataclass(frozen=True, eq=False)
class Recorded:
    """One recording on side 0, and its replay on side 1.

    Args:
        name: of the program.
        tapes: the primitives of each side.
        outputs: of each side, as the list of their parts.
        repeatable: whether side 0 gives the same output again under the same primitives.
        unsettled: parts of the output that depend on noise whose use was not traced, which may hide a difference.
        influence: change of the parts of the output on side 0 when a noise value is shifted by `step()`.
        names: names of the parts of the output on side 0; empty if unknown.
    """

    name: str
    tapes: tuple[Tape, Tape]
    outputs: tuple[Leaves, Leaves]
    repeatable: bool
    unsettled: frozenset[int] = frozenset()
    influence: Mapping[Element, Floats] = field(default_factory=dict)
    names: tuple[str, ...] = ()

    @property
    def calls(self) -> tuple[tuple[PrimitiveCall, ...], tuple[PrimitiveCall, ...]]:
        """Primitives of each side."""
        return tuple(self.tapes[0].calls), tuple(self.tapes[1].calls)

    @property
    def parted(self) -> bool:
        """True if the sides call different primitives, or a different number of them."""
        return self.tapes[1].parted is not None or len(self.tapes[0].calls) != len(self.tapes[1].calls)

    def distance(self, at: int) -> Floats | None:
        """Return the distance between the values under the noise of a call; None if the call is not additive noise."""
        one, other = (tape.calls[at] for tape in self.tapes)
        if not one.additive:
            return None
        draw = self.tapes[1].draws.get(at)
        distance = other.distance(one)
        return distance if draw is None else np.where(distance != 0.0, distance, draw.shift)

    def is_noise(self, at: int) -> bool:
        """Return whether a call returned noise that is added to a value, or may be."""
        draw = self.tapes[0].draws.get(at)
        return draw is not None and (
            self.tapes[0].calls[at].additive or (draw.added and self.tapes[0].calls[at].name not in DECISION_PRIMITIVES)
        )

    def open_calls(self, until: int | None = None) -> list[int]:
        """Return the calls that may hide a difference in a way that was not traced."""
        open_calls = []
        for at, (one, other) in enumerate(self._common(until)):
            hidden = (
                one.fed is not None and bool(input_change(one.fed, other.fed).any()) if _numeric(one.fed) else False
            )
            picks = one.name in CHOICE_PRIMITIVES and one.fed is None
            draw = self.tapes[1].draws.get(at)
            settled = draw is not None and draw.settled.any()
            if not (hidden or picks or settled or one.source not in (*SOURCES, "secrets")):
                open_calls.append(at)
        return open_calls

    def elements(self) -> list[Element]:
        """Return all noise values with a known cost or location."""
        return [
            (at, i)
            for at, call in enumerate(self.tapes[0].calls)
            if self.is_noise(at)
            for i in range(np.size(call.result))
        ]

    def moved_elements(self) -> list[Element]:
        """Return the noise values that were shifted to keep a noisy value."""
        distances = {at: self.distance(at) for at in range(len(self.tapes[0].calls))}
        return [
            (at, int(i)) for at, distance in distances.items() if distance is not None for i in np.flatnonzero(distance)
        ]

    def step(self) -> float:
        """Return the shift of draws that measures their influence: about the largest scale, the same for all.

        It is an integer where scales are not small, so that rounding to integers does not remove it.
        """
        scales = [np.ravel(call.parameters.get("scale", 1.0)) for call in self.tapes[0].calls if call.additive]
        largest = float(np.max(np.concatenate([*scales, np.zeros(1)])))
        if not 0.0 < largest < np.inf:
            return 1.0
        return largest if largest < 0.1 else float(np.ceil(largest))

    def along(self, elements: Sequence[Element], step: float) -> Mapping[int, Floats]:
        """Return the shifts of the draws of these elements, by call."""
        by: dict[int, Floats] = {}
        for element in elements:
            if element is not None:
                at, i = element
                by.setdefault(at, np.zeros(np.size(self.tapes[0].calls[at].result)))[i] = step
        return by

    def findings(self, claim: Guarantee | None = None, *, delta: float | None = None) -> tuple[Finding, ...]:
        """Return `Recordings.findings` of this run only."""
        return Recordings((self,)).findings(claim, delta=delta)

    def faults(self) -> tuple[Finding, ...]:
        """Return the findings by construction, without the budget."""
        if not self.repeatable:
            return (
                Finding("hidden randomness", "equal primitives give unequal outputs: some randomness is not recorded."),
            )
        return (*self._flow(), *self._parameters(), *self._distances(), *self._bare())

    def spent(self) -> Guarantee | None:
        """Return the privacy loss of this run; None if it is unknown."""
        return Recordings((self,)).spent()

    def charged(self) -> Guarantee | None:
        """Return the guarantee of the calls if each kept noisy value is released; None if one has no known cost."""
        if self.parted or not self.repeatable or not equal_outputs(*self.outputs):
            return None
        parts: list[Guarantee] = []
        for at, (one, other) in enumerate(self._common()):
            if one.charge is None:
                return None
            distance = self.distance(at)
            if distance is None:
                parts.append(one.charge(one.fed, other.fed))
            elif distance.any():
                distance = distance.reshape(np.shape(one.result))
                parts.append(one.charge(np.zeros(distance.shape), distance))
        return _compose_parts(parts)

    def _flow(self) -> Iterator[Finding]:
        if not self.parted:
            return
        n0, n1 = (len(tape.calls) for tape in self.tapes)
        at = min(n0, n1) if self.tapes[1].parted is None else self.tapes[1].parted
        for earlier in self.open_calls(at):
            draw = self.tapes[1].draws.get(earlier)
            if draw is None or not self.is_noise(earlier) or not draw.added:
                return  # the call may have decided the branch
        names = [str(tape.calls[at]) if at < len(tape.calls) else "missing" for tape in self.tapes]
        shapes = [
            f" of shape {tape.calls[at].parameters.get('shape')}" if at < len(tape.calls) else "" for tape in self.tapes
        ]
        sides = " and ".join(f"{names[side]}{shapes[side]} on side {side}" for side in (0, 1))
        yield Finding("control flow", f"primitive {at + 1} is {sides}, after equal noisy values.", at)

    def _parameters(self) -> Iterator[Finding]:
        for at, (one, other) in enumerate(self._common()):
            for key in one.parameters:
                before, now = one.parameters[key], other.parameters.get(key)
                if key != "shape" and not equal(before, now):
                    sides = f"{short_repr(before)} on side 0 and {short_repr(now)} on side 1"
                    yield Finding("parameters", f"{key} of primitive {at + 1} ({one}) is {sides}.", at)
            draw = self.tapes[1].draws.get(at)
            if draw is not None and draw.uneven is not None and not self.parted:
                by0, by1 = draw.uneven
                sides = f"by {number(by0)} on side 0 and by {number(by1)} on side 1"
                text = f"the noise of primitive {at + 1} ({one}) is multiplied {sides}."
                yield Finding("parameters", text, at)

    def _distances(self) -> Iterator[Finding]:
        for at, (one, other) in enumerate(self._common()):
            primitive = f"primitive {at + 1} ({one})"
            distance = self.distance(at)
            if distance is not None and not np.isfinite(distance).all():
                sides = " and ".join(f"{short_repr(fed)} on side {side}" for side, fed in enumerate(self._under(at)))
                yield Finding("distance", f"the value under {primitive} is {sides}.", at)
            elif one.sensitivity is not None and one.fed is not None and _numeric(one.fed, other.fed):
                most = input_change(one.fed, other.fed).max(initial=0.0)
                if not np.isfinite(most):
                    sides = f"{short_repr(one.fed)} on side 0 and {short_repr(other.fed)} on side 1"
                    yield Finding("distance", f"the input of {primitive} is {sides}.", at)
                elif most > one.sensitivity * (1.0 + RELATIVE_TOLERANCE):
                    text = (
                        f"the input of {primitive} changes by {number(most)}, but its sensitivity is "
                        f"{number(one.sensitivity)}."
                    )
                    yield Finding("distance", text, at)

    def _under(self, at: int) -> Iterator[Any]:
        """Yield the values under the noise of each side, at the first index where one of them is not finite."""
        calls, draws = [tape.calls[at] for tape in self.tapes], [tape.draws.get(at) for tape in self.tapes]
        if draws[0] is None or draws[1] is None or (input_change(calls[0].fed, calls[1].fed) != 0.0).any():
            yield from (call.fed for call in calls)
            return
        for before, now in zip(draws[0].steps, draws[1].steps, strict=False):
            bad = np.flatnonzero(~np.isfinite(before.offset) | ~np.isfinite(now.offset))
            if bad.size:
                yield from (float(step.offset.ravel()[bad[0]]) for step in (before, now))
                return

    def _bare(self) -> Iterator[Finding]:
        out0, out1 = self.outputs
        if self.parted:
            return
        if len(out0) != len(out1):
            if not self.unsettled:
                text = f"the output has {plural(len(out0), 'part')} on side 0 and {len(out1)} on side 1."
                yield Finding("no noise", text)
            return
        for i in np.flatnonzero(changes(out0, out1)):
            if int(i) not in self.unsettled:
                sides = f"{_part(out0[i])} on side 0 and {_part(out1[i])} on side 1"
                name = self.names[i] if len(self.names) == len(out0) else f"part {i + 1} of the output"
                name = "the output" if name == "output" else name
                text = f"{name} is {sides}, after equal noisy values: no noise hides the difference."
                yield Finding("no noise", text)
                return

    def _common(self, until: int | None = None) -> list[tuple[PrimitiveCall, PrimitiveCall]]:
        """Return the calls that both sides make."""
        until = self.tapes[1].parted if until is None else until
        return list(zip(self.tapes[0].calls[:until], self.tapes[1].calls[:until], strict=False))


@dataclass(frozen=True, eq=False)
class Recordings:
    """Several recordings of one program on one pair; a finding counts if all of them have its kind."""

    runs: tuple[Recorded, ...]

    def findings(self, claim: Guarantee | None = None, *, delta: float | None = None) -> tuple[Finding, ...]:
        """Return the findings by construction on this pair; empty if there are none.

        Args:
            claim: the guarantee of the whole program; None leaves the budget out.
            delta: at which the epsilons of the claim and of the primitives are compared; None for that of the claim.
        """
        faults = [run.faults() for run in self.runs]
        kinds = set.intersection(*({fault.kind for fault in of_run} for of_run in faults))
        if claim is None or any(faults):
            return tuple(fault for fault in faults[0] if fault.kind in kinds)
        spent, at = self.spent(), _delta(claim, delta)
        claimed = float(claim.epsilon(at))
        if spent is None or (epsilon := float(spent.epsilon(at))) <= claimed * (1.0 + CLAIM_TOLERANCE):
            return ()
        epsilon_text, claimed_text = _distinct(epsilon, claimed)
        text = f"the primitives compose to epsilon {epsilon_text} at delta {number(at)}, but {claimed_text} is claimed."
        return (Finding("spent", text),)

    def spent(self) -> Guarantee | None:
        """Return the guarantee of the primitives together on this pair, by composition; None if it is unknown.

        It is known if the output determines the kept noisy values: each of them affects the output of every run, and no
        shift of noise, except of noise that hides nothing, leaves the outputs of all runs unchanged. The sum of two
        noises, the largest of several noisy values, and comparisons therefore have no known cost.
        """
        charges = [run.charged() for run in self.runs]
        if any(charge is None for charge in charges) or not self._determined():
            return None
        return max((charge for charge in charges if charge is not None), key=lambda charge: charge.epsilon(1e-6))

    def _determined(self) -> bool:
        """Return whether the outputs of all runs together determine the shifted noise."""
        moved_in = self.runs[0].moved_elements()
        if not moved_in:
            return all(not run.moved_elements() for run in self.runs)
        if any(run.moved_elements() != moved_in or not run.influence for run in self.runs):
            return False
        known: list[Element] = [element for element in self.runs[0].influence if element is not None]
        if any([element for element in run.influence if element is not None] != known for run in self.runs):
            return False
        places, tables = [known.index(element) for element in moved_in], []
        for run in self.runs:
            table = np.stack([run.influence[element] for element in known], axis=1)
            clear = np.isfinite(table).all(axis=1)
            if None in run.influence:
                clear &= run.influence[None] == 0.0
            if not table[clear][:, places].any(axis=0).all():
                return False
            tables.append(table[clear])
        _, sizes, directions = np.linalg.svd(np.concatenate(tables))
        null_space = directions[int((sizes > 1e-6 * sizes[0]).sum()) :]
        return bool((np.abs(null_space[:, places]) < 1e-6).all())

    @property
    def calls(self) -> tuple[PrimitiveCall, ...]:
        """Primitives of the first run on side 0."""
        return self.runs[0].calls[0]

    def require(self, claim: Guarantee | None = None, *, delta: float | None = None) -> None:
        """Raise `PrivacyViolation` with every finding, if there is one."""
        findings = self.findings(claim, delta=delta)
        if findings:
            lines = "\n".join(f"  {finding}" for finding in findings)
            raise PrivacyViolation(f"{self.runs[0].name} is not private by construction, on this pair:\n{lines}")


def _compose_parts(parts: Sequence[Guarantee]) -> Guarantee | None:
    """Compose the guarantees of several parts by the tightest theorem that applies; None if none does."""
    nonzero = [part for part in parts if not (isinstance(part, PureDP) and part.epsilon(0.0) == 0.0)]
    if not nonzero:
        return PureDP(0.0)
    if any(isinstance(part, ConcentratedDP) for part in nonzero):
        try:
            nonzero = [to_concentrated(part) for part in nonzero]
        except AccountingError:
            return None
    try:
        return compose(nonzero)
    except AccountingError:
        return None


def _delta(claim: Guarantee, delta: float | None) -> float:
    """Return `delta`, else the default delta of the claim, else 0, or 1e-5 if the claim has no finite epsilon at 0."""
    if delta is not None:
        return delta
    if claim.default_delta is not None:
        return claim.default_delta
    return 0.0 if np.isfinite(claim.epsilon(0.0)) else 1e-5


def equal(one: Any, other: Any) -> bool:
    """Return whether two outputs, parameters or inputs are equal; NaN equals itself."""
    try:
        return bool(np.array_equal(np.asarray(one), np.asarray(other), equal_nan=True))
    except TypeError:
        return bool(one == other)


def _numeric(*fed: Any) -> bool:
    return all(np.asarray(values).dtype.kind in "biuf" for values in fed)


def _part(part: Any) -> str:
    return f"{number(part)}" if isinstance(part, float) else short_repr(part)


def _distinct(first: float, second: float) -> tuple[str, str]:
    """Return two numbers as texts with enough digits to show that they differ, at least 6."""
    for digits in range(6, 17):
        one, other = f"{first:.{digits}g}", f"{second:.{digits}g}"
        if one != other:
            break
    return one, other
