"""What was seen of a program on both sides, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.errors import AccountingError, PrivacyViolation
from ...mechanisms.external.labels import shown
from ...mechanisms.external.recording import Call
from ...mechanisms.external.recording.charges import moved
from ...mechanisms.guarantees import ConcentratedDP, PureDP, compose, to_concentrated
from ...mechanisms.guarantees.base import Guarantee

Floats = NDArray[np.float64]

SLACK = 1e-9
"""Relative difference below which numbers are taken to be equal."""


@dataclass(frozen=True, eq=False)
class Finding:
    """One difference that ought not to be there.

    Args:
        kind: "control flow", "parameters", "distance", "no noise", "hidden randomness" or "spent".
        text: a sentence for people.
        call: place of the primitive, from 0; None where it is about all of them.
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
        calls: the primitives of either side.
        outputs: of either side, flattened to numbers; None for an output that is not made of numbers.
        gains: for each call whose noise was followed: how far the outputs of either side move when it moves by 1.
        parted: place of the first call of side 1 that is not that of side 0; None where there is none.
        repeatable: whether side 0 gives the same output again under the same primitives.
    """

    name: str
    calls: tuple[tuple[Call, ...], tuple[Call, ...]]
    outputs: tuple[Floats | None, Floats | None]
    gains: dict[int, tuple[Floats, Floats]]
    parted: int | None
    repeatable: bool

    def distance(self, at: int) -> Floats | None:
        """How far what lies under the noise of a call moves; None where that cannot be seen."""
        one, other = (calls[at] for calls in self.calls)
        if not one.additive:
            return None
        fed = moved(one.fed, other.fed)
        steps = self._steps(at)
        if steps is None or not steps.size:
            return fed if fed.any() and steps is not None else None
        if steps.size == np.size(one.result):
            return steps
        return steps[:1] if np.size(one.result) == 1 and _alike(steps) else None

    def _steps(self, at: int) -> Floats | None:
        """How far the outputs that the noise of a call reaches move, in units of that noise; empty if it reaches none,
        None where another noise reaches them too."""
        out0, out1 = self.outputs
        if at not in self.gains or out0 is None or out1 is None or out0.shape != out1.shape:
            return np.empty(0)
        gain = self.gains[at][0]
        reached = gain != 0.0
        others = [other for place, (other, _) in self.gains.items() if place != at]
        if any((other[reached] != 0.0).any() for other in others):
            return None
        with np.errstate(all="ignore"):
            steps: Floats = moved(out0[reached], out1[reached]) / np.abs(gain[reached])
        return steps

    def spent(self) -> Guarantee | None:
        """What the calls give away together on this pair; None where that of one of them is not known."""
        parts: list[Guarantee] = []
        for at, (one, other) in enumerate(zip(*self.calls, strict=False)):
            distance = self.distance(at)
            if one.charge is None or (one.additive and distance is None):
                return None
            if distance is None:
                parts.append(one.charge(one.fed, other.fed))
            else:
                parts.append(one.charge(np.zeros(distance.shape), distance))
        return total(parts)

    def findings(self, claim: Guarantee | None = None, *, delta: float | None = None) -> tuple[Finding, ...]:
        """What is wrong by construction on this pair; empty if nothing was seen.

        Args:
            claim: what the whole is said to give away at most; None leaves the budget out.
            delta: at which the epsilons of the claim and of what was spent are compared; None takes the claim's own.
        """
        if not self.repeatable:
            return (
                Finding("hidden randomness", "equal primitives give unequal outputs: some randomness is not seen."),
            )
        found = [*self._flow(), *self._parameters(), *self._distances(), *self._bare()]
        if claim is None or found:
            return tuple(found)
        spent, at = self.spent(), _delta(claim, delta)
        promised = float(claim.epsilon(at))
        if spent is not None and (given := float(spent.epsilon(at))) > promised * (1.0 + SLACK):
            text = f"the primitives give away epsilon {given:.6g} at delta {at:g}, but {promised:.6g} is claimed."
            found.append(Finding("spent", text))
        return tuple(found)

    def _flow(self) -> list[Finding]:
        n0, n1 = map(len, self.calls)
        if self.parted is None and n0 == n1:
            return []
        at = min(n0, n1) if self.parted is None else self.parted
        said = [str(calls[at]) if at < len(calls) else "no more" for calls in self.calls]
        shapes = [f" of shape {calls[at].parameters.get('shape')}" if at < len(calls) else "" for calls in self.calls]
        sides = " and ".join(f"{said[side]}{shapes[side]} on side {side}" for side in (0, 1))
        text = f"primitive {at + 1} is {sides}, after equal noise."
        return [Finding("control flow", text, at)]

    def _parameters(self) -> list[Finding]:
        found = []
        for at, (one, other) in enumerate(self._common()):
            for key in one.parameters:
                before, now = one.parameters[key], other.parameters.get(key)
                if key != "shape" and not equal(before, now):
                    text = (
                        f"{key} of primitive {at + 1} ({one}) is {shown(before)} on side 0 and {shown(now)} on side 1."
                    )
                    found.append(Finding("parameters", text, at))
            if at in self.gains and not self._as_far(*self.gains[at]):
                by0, by1 = (_short(gain) for gain in self.gains[at])
                text = (
                    f"the noise of primitive {at + 1} ({one}) is multiplied by {by0} on side 0 and by {by1} on side 1."
                )
                found.append(Finding("parameters", text, at))
        return found

    def _as_far(self, gain0: Floats, gain1: Floats) -> bool:
        """Whether noise moves the outputs of both sides as far, wherever both are numbers."""
        out0, out1 = self.outputs
        if out0 is None or out1 is None or gain0.shape != gain1.shape:
            return True  # told by another finding
        both = np.isfinite(out0) & np.isfinite(out1)
        return bool(np.allclose(gain0[both], gain1[both], rtol=1e-6, atol=1e-6))

    def _distances(self) -> list[Finding]:
        found = []
        for at, (one, other) in enumerate(self._common()):
            if one.fed is None or not (one.additive or one.sensitivity is not None):
                continue
            distance = moved(one.fed, other.fed) if _numeric(one.fed, other.fed) else np.zeros(0)
            most, said = distance.max(initial=0.0), f"what primitive {at + 1} ({one}) is fed"
            if not np.isfinite(distance).all():
                text = f"{said} is {shown(one.fed)} on side 0 and {shown(other.fed)} on side 1."
                found.append(Finding("distance", text, at))
            elif one.sensitivity is not None and most > one.sensitivity * (1.0 + SLACK):
                text = f"{said} moves by {most:.6g}, and the sensitivity that it is told is {one.sensitivity:g}."
                found.append(Finding("distance", text, at))
        return found

    def _bare(self) -> list[Finding]:
        out0, out1 = self.outputs
        if out0 is None or out1 is None or self.parted is not None:
            return []
        if out0.shape != out1.shape:
            return [Finding("no noise", f"the output has {out0.size} numbers on side 0 and {out1.size} on side 1.")]
        lost = np.flatnonzero(np.isfinite(out0) != np.isfinite(out1))
        if lost.size:
            sides = f"{out0[lost[0]]:.6g} on side 0 and {out1[lost[0]]:.6g} on side 1"
            return [Finding("distance", f"number {lost[0] + 1} of the output is {sides}, under equal noise.")]
        reached = np.zeros(out0.shape, dtype=np.bool_)
        for gain0, gain1 in self.gains.values():
            if gain0.shape == gain1.shape == reached.shape:
                reached |= (gain0 != 0.0) | (gain1 != 0.0)
        bare = np.flatnonzero((moved(out0, out1) > 0.0) & ~reached)
        if len(self.gains) < len(self.calls[0]):
            return []  # where the noise of one of them goes is not known
        for at, call in enumerate(self.calls[0]):
            steps = self._steps(at)
            if np.size(call.result) == 1 and steps is not None and not _alike(steps):
                text = (
                    f"{steps.size} numbers of the output share primitive {at + 1} ({call}), and move by unequal steps."
                )
                return [Finding("no noise", text, at)]
        if not bare.size:
            return []
        i = bare[0]
        sides = f"{out0[i]:.6g} on side 0 and {out1[i]:.6g} on side 1"
        text = f"number {i + 1} of the output is {sides}, and no noise reaches it."
        return [Finding("no noise", text)]

    def _common(self) -> list[tuple[Call, Call]]:
        """The calls that both sides make."""
        until = None if self.parted is None else self.parted
        return list(zip(self.calls[0][:until], self.calls[1][:until], strict=False))


@dataclass(frozen=True, eq=False)
class Recordings:
    """Several recordings of one program on one pair; a finding counts if its kind is in all of them."""

    runs: tuple[Recorded, ...]

    def findings(self, claim: Guarantee | None = None, *, delta: float | None = None) -> tuple[Finding, ...]:
        """As `Recorded.findings`: those of the first run whose kind every run has."""
        found = [run.findings(claim, delta=delta) for run in self.runs]
        kinds = set.intersection(*({one.kind for one in some} for some in found))
        return tuple(one for one in found[0] if one.kind in kinds)

    def spent(self) -> Guarantee | None:
        """What the first run gives away; None where that is not known."""
        return self.runs[0].spent()

    @property
    def calls(self) -> tuple[Call, ...]:
        """The primitives of the first run on side 0."""
        return self.runs[0].calls[0]

    def require(self, claim: Guarantee | None = None, *, delta: float | None = None) -> None:
        """Raises `PrivacyViolation` with every finding, if there is one."""
        found = self.findings(claim, delta=delta)
        if found:
            lines = "\n".join(f"  {one}" for one in found)
            raise PrivacyViolation(f"{self.runs[0].name} is not private as it is built, on this pair:\n{lines}")


def total(parts: Sequence[Guarantee]) -> Guarantee | None:
    """What several parts give away together, by the plainest theorem that covers them; None where none does."""
    real = [part for part in parts if not (isinstance(part, PureDP) and part.epsilon(0.0) == 0.0)]
    if not real:
        return PureDP(0.0)
    if any(isinstance(part, ConcentratedDP) for part in real):
        try:
            real = [to_concentrated(part) for part in real]
        except AccountingError:
            return None
    for accounting in ("basic", "privacy-loss"):
        try:
            return compose(real, accounting=accounting)
        except AccountingError:
            continue
    return None


def _delta(claim: Guarantee, delta: float | None) -> float:
    """Where a claim is read: as said; else at its own delta; else at 0, or at 1e-5 where it has no epsilon there."""
    if delta is not None:
        return delta
    if claim.default_delta is not None:
        return claim.default_delta
    return 0.0 if np.isfinite(claim.epsilon(0.0)) else 1e-5


def equal(one: Any, other: Any) -> bool:
    """Whether two outputs, parameters or inputs are the same; NaN equals itself."""
    try:
        return bool(np.array_equal(np.asarray(one), np.asarray(other), equal_nan=True))
    except TypeError:
        return bool(one == other)


def _alike(steps: Floats) -> bool:
    """Whether all steps are the same, so that one noise hides them all."""
    return steps.size < 2 or bool(np.allclose(steps, steps[0], rtol=1e-6, atol=1e-9))


def _numeric(*fed: Any) -> bool:
    return all(np.asarray(one).dtype.kind in "biuf" for one in fed)


def _short(gain: Floats) -> str:
    values = np.unique(gain[gain != 0.0])
    return " and ".join(f"{value:.6g}" for value in values[:3]) or "0"
