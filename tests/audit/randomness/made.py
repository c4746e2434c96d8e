"""Runs of fresh processes, made by hand."""

import numpy as np

from dpassay.audit.randomness.experiment import FreshProcesses
from dpassay.audit.trials.plan import Chunk
from dpassay.audit.trials.repeated_outputs import DistinctOutputs, common_output_digest
from dpassay.audit.trials.seeds import Stage
from dpassay.mechanisms import Outputs
from dpassay.mechanisms.adapters.functions.source import FunctionSource


def seen(*values):
    """Trials whose output on each side is always this one."""
    unvarying = DistinctOutputs()
    for side, value in enumerate(values):
        outputs = Outputs(np.full(3, value))
        unvarying.add(Chunk(Stage.EVALUATION, side, 0, 0, 3), {"only_output": common_output_digest(outputs)})
    return unvarying


VARIED = DistinctOutputs()
"""Trials whose outputs vary."""


def own_runs(out, in_, *, left=None, read=(), numbers=None, same=False, n_asked=None):
    """Own runs of processes: for each a number, or an array of several runs, on side 0 and on side 1.

    `left` has a digest of random states for each process; `same` says whether common runs are equal everywhere.
    """
    own = tuple(
        tuple(Outputs(np.atleast_1d(np.asarray(part, dtype=float))) for part in sides)
        for sides in zip(out, in_, strict=True)
    )
    digests = tuple((digest, digest) for digest in (left or [""] * len(own)))
    source = FunctionSource(b"", numbers={"": np.array(numbers or [])})
    common = tuple((Outputs(np.zeros(1) + (0 if same else k + 1)),) * 2 for k in range(len(own)))
    here = (Outputs(np.zeros(1)),) * 2
    n_asked = max(len(own), 1) if n_asked is None else n_asked
    return FreshProcesses(source, own, common, here, digests, frozenset(read), n_asked=n_asked)
