"""The witness of outputs that one side gave and that the law of the other side never gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...mechanisms.external.labels import cut
from ...mechanisms.guarantees.base import Guarantee
from ..trials.guards.impossible import Impossible
from .base import Kind, Witness


def impossible_outputs(
    found: Impossible, claim: Guarantee, *, mechanism: str, n_runs: int, seed: int, datasets: tuple[str, str] | None
) -> tuple[Witness, ...]:
    """The witness against `claim`; none where no such output was seen, where it says nothing about the claim, or where
    the law finds outputs of its own side impossible, and so is not that of these runs.

    Args:
        found: what the trials gave.
        claim: what is tested.
        mechanism: its name.
        n_runs: of each side that were counted.
        seed: root of their streams.
        datasets: as JSON, where they can be.
    """
    if found.broken or not any(found.counts):
        return ()
    side = max((0, 1), key=lambda one: found.counts[one])
    shown: tuple[str, ...] = tuple(map(in_words, found.outputs(side)))
    witness = Witness.against(
        claim,
        kind=Kind.IMPOSSIBLE_OUTPUT,
        what=f"side {side} gave {shown[0]}, which side {1 - side} never gives, and {found.counts[side]:,} such outputs "
        f"in {n_runs:,} runs.",
        outputs=((), shown) if side else (shown, ()),
        datasets=datasets,
        seeds=(seed,),
        again=f"audit it with seed {seed} again, or ask mechanism.output_law().log_density(outputs, dataset), which is "
        f"-inf for the dataset of side {1 - side}.",
        assumptions=(f"the output law that {mechanism} states is the law of what it releases.",),
    )
    return (witness,) if witness.refutes else ()


def in_words(output: Any) -> str:
    """An output with every digit, cut if it is long.

    >>> in_words(np.float64(0.1)), in_words(np.array([1.0, 2.5]))
    ('0.1', '(1.0, 2.5)')
    """
    values: Sequence[Any] = np.asarray(output).reshape(-1).tolist()
    return repr(values[0]) if np.ndim(output) == 0 else cut(f"({', '.join(map(repr, values))})")


__all__ = ["impossible_outputs", "in_words"]
