"""Outputs that never vary, for every seed and in every process: the function draws no randomness.

It draws nothing, or from a generator that it seeds with a constant or with its data; or its hidden randomness had no
effect in these runs; or noise that was drawn before is part of every copy. A finding, not a proof: the bounds decide
the verdict.
"""

from __future__ import annotations

from ....mechanisms.core import NO_NAMES, Guarantee, OutputNames, Outputs
from ...randomness.experiment import FreshProcesses
from ...trials.repeated_outputs import DistinctOutputs, common_output_digest
from .base import CERTAIN_DELTA, Witness, WitnessKind


def reproduces(fresh: FreshProcesses, unvarying: DistinctOutputs) -> bool:
    """Return True if each side gave the output of the trials for all seeds, and nothing was read from outside."""
    return (
        unvarying.differs
        and fresh.can_run
        and not fresh.read
        and all(
            unvarying.is_only(side, common_output_digest(sides[side]).tobytes())
            for sides in fresh.own
            for side in (0, 1)
        )
        and all(len({left[side] for left in fresh.left}) == 1 for side in (0, 1))
    )


def no_randomness(
    fresh: FreshProcesses,
    unvarying: DistinctOutputs,
    claim: Guarantee,
    *,
    mechanism: str,
    n_runs: int,
    datasets: tuple[str, str] | None,
    names: OutputNames = NO_NAMES,
) -> tuple[Witness, ...]:
    """Return the finding; empty if the runs vary, or if their inputs may explain that they do not.

    `names` are those of the numbers of an output, some of which stand for texts.
    """
    if not reproduces(fresh, unvarying):
        return ()
    out, in_ = (_shown(outputs, names) for outputs in fresh.own[0])
    seeded = any(any(left) for left in fresh.left)
    reason = "it sets its random state itself" if seeded else "it uses no random state that it receives"
    n_fresh = min(sum(len(sides[side]) for sides in fresh.own) for side in (0, 1))
    witness = Witness.against(
        claim,
        kind=WitnessKind.NO_RANDOMNESS,
        what=f"{mechanism} gave {out} on side 0 and {in_} on side 1 in every run, for every seed: {reason}.",
        delta=CERTAIN_DELTA,
        outputs=((out,), (in_,)),
        datasets=datasets,
        again=f"call it on each dataset in a fresh interpreter: {n_fresh:,} runs a side in {fresh.n} fresh "
        f"interpreters, with different seeds, and {n_runs:,} runs a side in the audit gave no other output.",
    )
    return (witness,)


def _shown(outputs: Outputs, names: OutputNames) -> str:
    """Return the first output as readable text."""
    event = str(outputs.labels[0])
    return event or names.row(outputs.values[0])
