"""Outputs that never vary, replayed in fresh interpreters: a fixed seed, no randomness at all, or a memory.

In one process a function may give the same output again and again for three reasons. Runs in interpreters of their own,
with other seeds, tell them apart:

    the same outputs again     it draws nothing, or from a generator that it seeds with a constant or with its data:
                               each side is a function of the data alone. Where the sides differ, it is a witness
    other outputs              it draws them anew where it remembers nothing: in one process it gave an earlier result
                               again, so that its runs are not independent. No verdict, and no witness
    neither can be said        the function cannot be pickled, or what it read besides (files, connections, entropy)
                               could be a memory, or chance that did not show in so few runs. Nothing changes
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...mechanisms.base import Neighbours, Outputs
from ...mechanisms.external.calls.fresh import FreshRun, run
from ...mechanisms.external.function import FunctionMechanism
from ...mechanisms.guarantees.base import Guarantee
from ..trials.guards.unvarying import Unvarying, only_output
from .base import CERTAIN, Kind, Witness
from .impossible import in_words

ORDERS = {1: (0, 1), 2: (1, 0)}
"""Seeds of the fresh interpreters, and the order of the sides in each: what one run leaves to the next shows."""


@dataclass(frozen=True)
class Replayed:
    """What runs in fresh interpreters gave.

    Args:
        runs: of side 0 and of side 1, one for each seed; None where they could not be made.
        unvarying: what the trials gave.
    """

    runs: tuple[tuple[FreshRun, ...], tuple[FreshRun, ...]] | None
    unvarying: Unvarying

    @property
    def remembered(self) -> bool:
        """Whether outputs that never varied in the trials do vary between fresh interpreters."""
        return self.runs is not None and any(len({one.output for one in side}) > 1 for side in self.runs)

    @property
    def deterministic(self) -> bool:
        """Whether each side gave one output, that of the trials, whatever the seeds, and nothing else was read."""
        if self.runs is None or self.remembered:
            return False
        return all(
            not any(one.outside for one in side)
            and len({tuple(sorted(one.drawn.items())) for one in side}) == 1
            and self.unvarying.is_only(place, _digest(side[0]))
            for place, side in enumerate(self.runs)
        )


def replay(mechanism: Any, neighbours: Neighbours, unvarying: Unvarying) -> Replayed:
    """Runs a function whose outputs never varied, but differ between the sides, in fresh interpreters."""
    worth_it = isinstance(mechanism, FunctionMechanism) and unvarying.differs
    if not worth_it or mechanism.form is None or mechanism.style is None:
        return Replayed(None, unvarying)
    style = "one-at-a-time" if mechanism.style == "many-runs" else mechanism.style
    asked = {"style": style, "form": mechanism.form, "records": mechanism.records}
    with ThreadPoolExecutor(len(ORDERS)) as pool:
        runs = pool.map(lambda seed: run(mechanism.function, neighbours, seed, sides=ORDERS[seed], **asked), ORDERS)
        found = [both for both in runs if both is not None]
    if len(found) < len(ORDERS):
        return Replayed(None, unvarying)
    return Replayed((tuple(out for out, _ in found), tuple(in_ for _, in_ in found)), unvarying)


def no_randomness(
    replayed: Replayed, claim: Guarantee, *, mechanism: str, n_runs: int, datasets: tuple[str, str] | None
) -> tuple[Witness, ...]:
    """The witness against `claim`; none where the function is not seen to be deterministic."""
    if replayed.runs is None or not replayed.deterministic:
        return ()
    out, in_ = (_shown(side[0]) for side in replayed.runs)
    seeded = any(one.drawn for side in replayed.runs for one in side)
    why = (
        "it sets the random state that it draws from itself" if seeded else "no random state that is given to it moves"
    )
    witness = Witness.against(
        claim,
        kind=Kind.NO_RANDOMNESS,
        what=f"{mechanism} always gives {out} on side 0 and {in_} on side 1, whatever the seed: {why}.",
        delta=CERTAIN,
        outputs=((out,), (in_,)),
        datasets=datasets,
        again=f"call it once on each dataset, in a fresh interpreter: {len(ORDERS)} of these a side, with different "
        f"seeds, and {n_runs:,} runs a side here gave nothing else.",
        assumptions=("it draws no entropy in a compiled library, by itself, that these runs did not show.",),
    )
    return (witness,) if witness.refutes else ()


def _outputs(one: FreshRun) -> Outputs:
    events = np.array([one.event], dtype=np.str_) if one.event else None
    return Outputs(np.array([one.values]), events)


def _digest(one: FreshRun) -> bytes:
    return only_output(_outputs(one)).tobytes()


def _shown(one: FreshRun) -> str:
    """The output as a person reads it."""
    return one.event or in_words(np.array(one.values) if len(one.values) != 1 else np.float64(one.values[0]))


__all__ = ["Replayed", "no_randomness", "replay"]
