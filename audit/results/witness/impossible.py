"""The witness of outputs of one side that are impossible under the output distribution of the other side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....mechanisms.adapters.functions.guard import cut
from ....mechanisms.core import Guarantee
from ...trials.impossible_outputs import ImpossibleOutputs
from .base import Witness, WitnessKind


def impossible_outputs(
    found: ImpossibleOutputs,
    claim: Guarantee,
    *,
    mechanism: str,
    n_runs: int,
    seed: int,
    datasets: tuple[str, str] | None,
) -> tuple[Witness, ...]:
    """Return the witness against `claim`; empty if there is none.

    There is none if no impossible output was observed, if it does not refute the claim, or if outputs of a side are
    impossible under the distribution of that side, which then is not that of these runs.

    Args:
        found: impossible outputs of the trials.
        claim: the guarantee under test.
        mechanism: its name.
        n_runs: number of counted runs of each side.
        seed: root of their streams.
        datasets: as JSON, where possible.
    """
    if found.broken or not any(found.counts):
        return ()
    side = max((0, 1), key=lambda s: found.counts[s])
    outputs: tuple[str, ...] = tuple(map(in_words, found.outputs(side)))
    witness = Witness.against(
        claim,
        kind=WitnessKind.IMPOSSIBLE_OUTPUT,
        what=f"side {side} gave {outputs[0]}, which side {1 - side} never gives, and {found.counts[side]:,} such "
        f"outputs in {n_runs:,} runs.",
        outputs=((), outputs) if side else (outputs, ()),
        datasets=datasets,
        seeds=(seed,),
        again=f"repeat the audit with seed {seed}, or evaluate mechanism.output_law().log_density(outputs, dataset), "
        f"which is -inf for the dataset of side {1 - side}.",
        assumptions=(f"the output distribution that {mechanism} states is that of its releases.",),
    )
    return (witness,) if witness.refutes else ()


def in_words(output: Any) -> str:
    """Return an output with every digit, truncated if it is long.

    >>> in_words(np.float64(0.1)), in_words(np.array([1.0, 2.5]))
    ('0.1', '(1.0, 2.5)')
    """
    values: Sequence[Any] = np.asarray(output).reshape(-1).tolist()
    return repr(values[0]) if np.ndim(output) == 0 else cut(f"({', '.join(map(repr, values))})")
