"""Outputs that never vary, replayed in fresh interpreters: no randomness, stored state, or chance.

In one process a function may give the same output in every run for several reasons. Runs in fresh interpreters, each
with a copy of the function that has not run before, and with other seeds, distinguish some of them:

    other outputs              more often than by chance, if all runs were independent: in one process an earlier result
                               was returned again. The runs are dependent: no verdict
    the same outputs           the function draws nothing, or from a generator that it seeds with a constant or with its
                               data; or its hidden randomness had no effect in these runs; or all copies have noise that
                               was drawn before. A finding, not a proof: the bounds decide the verdict
    unknown                    the function cannot run in a fresh interpreter, or it reads possible state (files,
                               connections, the hash of a text)

**The test.** Null: the n trials of a side and its m fresh runs are independent and identically distributed. If j of the
n + m outputs differ from the single output of the trials, all choices of j of the n + m places are equally likely, so
all j are fresh runs with probability C(m, j) / C(n + m, j). Two sides are tested: twice the smaller probability. m is
`COPIES` for each interpreter, or less at a timeout; it does not depend on outputs.

**If a bound refutes the claim.** If no trial of either side varied, the trials may be one stored run, and n is then not
their number. `suspect_stored_run` decides from the state of the function and its inputs whether this can be excluded.
State that changed in the first runs, or that differs from a copy, is not in the copies, so the copies are independent
runs: where they refute the claim by themselves, it is refuted. Numbers that every copy has, files, and functions that
cannot run in a fresh interpreter leave no verdict.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....attacks.distinguishing.events import mark
from ....mechanisms.adapters.functions.first_runs import FirstRuns, state_before
from ....mechanisms.adapters.functions.fresh_runs import FreshObservations, FreshRun, Runs, is_imported_again, run
from ....mechanisms.adapters.functions.function import FunctionMechanism
from ....mechanisms.core import NO_NAMES, Guarantee, Neighbours, OutputNames, Outputs
from ...trials.independence import Dependence
from ...trials.repeated_outputs import DistinctOutputs, common_output_digest
from .base import CERTAIN_DELTA, Witness, WitnessKind

SHARED_LEVEL = 1e-6
"""Probability at which independent runs are wrongly doubted because fresh runs seem to differ."""
TESTED_QUANTILES = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98)
"""Quantiles of all outputs at which fresh runs are compared with runs in one process."""
SIDE_ORDERS = {1: (0, 1), 2: (1, 0)}
"""Order of the sides in each fresh interpreter, by seed: detects state that one run leaves to the next."""
REPEATED = "every run in one process gave the same output, but a run in a fresh process gives another"
EXPLAIN_POOL = "outputs repeat, as if their noise were drawn from a fixed pool"
EXPLAIN_SHARED = "runs in one process may share noise that was drawn once"
EXPLAIN = "every run gave the same output, which may be a stored earlier result"


@dataclass(frozen=True)
class Replayed:
    """Runs in fresh interpreters.

    Args:
        fresh: runs of each interpreter; empty if the function cannot run there.
        unvarying: the constant outputs of the trials.
        before: digests of the state of the function before its first run in this process, by name.
        made_anew: whether the copies were created by an import, and not from a pickle.
    """

    fresh: tuple[FreshObservations, ...]
    unvarying: DistinctOutputs
    before: Mapping[str, str] | None = None
    made_anew: bool = False

    def side(self, side: int) -> Runs:
        """Return all runs on one side."""
        return tuple(one for fresh in self.fresh for one in (fresh.in_ if side else fresh.out))

    def dependence(self, n_runs: int, significance: float) -> Dependence | None:
        """Test the independence of `n_runs` trials a side as above; return None unless the test rejects."""
        sides = [side for side in self.unvarying.sides if self.side(side)]
        log_p_values = {side: _log_chance(self._others(side), len(self.side(side)), n_runs) for side in sides}
        if not log_p_values:
            return None
        p_value = min(1.0, 2.0 * math.exp(min(log_p_values.values())))
        if p_value > significance:
            return None
        varying = tuple(side for side in sides if self._others(side))
        return Dependence("memory", varying[0] if len(varying) == 1 else None, p_value, REPEATED)

    def drawn_in(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return those of the `names` of state that runs on one side leave in different states."""
        states = [{one.left.get(name) for one in self.side(side)} for name in names for side in (0, 1)]
        return tuple(name for i, name in enumerate(names) if len(states[2 * i]) > 1 or len(states[2 * i + 1]) > 1)

    def _others(self, side: int) -> int:
        """Return the number of fresh runs whose output differs from that of all trials."""
        return sum(not self.unvarying.is_only(side, _digest(one)) for one in self.side(side))

    @cached_property
    def outside(self) -> tuple[str, ...]:
        """Inputs of the runs that may be stored state; fresh entropy is not."""
        runs = (*self.side(0), *self.side(1))
        return tuple(sorted({name for one in runs for name in one.outside if name != "entropy"}))

    @cached_property
    def differs(self) -> tuple[str, ...]:
        """Names of state that differs between imported copies, or from the state of this process."""
        if not self.made_anew or self.before is None:
            return ()
        state = (self.before, *(one.kept for one in self.fresh))
        names = sorted(set().union(*state))
        varying = {name for one in self.fresh for name in one.varying}
        return tuple(name for name in names if name in varying or len({one.get(name) for one in state}) > 1)

    def unexplained(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return those of the `names` of state that an import does not reproduce."""
        before = self.before or {}
        return tuple(
            name
            for name in names
            if name not in before or any(one.constants.get(name) != before[name] for one in self.fresh)
        )

    @property
    def reproduces_trials(self) -> bool:
        """True if each side gave the output of the trials for all seeds, and no other input was read."""
        return (
            bool(self.fresh)
            and self.unvarying.differs
            and not any(
                self._others(side)
                or any(one.outside for one in self.side(side))
                or len({tuple(sorted(one.drawn.items())) for one in (self._first(side))}) > 1
                for side in (0, 1)
            )
        )

    @property
    def draws(self) -> bool:
        """True if every run draws random numbers, even from a generator with a state that it sets itself."""
        return all(one.drawn or "entropy" in one.outside for side in (0, 1) for one in self._first(side))

    def _first(self, side: int) -> Runs:
        """Return the first run of each interpreter, whose randomness is known."""
        return tuple((one.in_ if side else one.out)[0] for one in self.fresh)

    def outputs(self) -> tuple[Outputs, Outputs]:
        """Return all runs of each side, equally many of both, as outputs of the mechanism."""
        n = min(len(self.side(0)), len(self.side(1)))
        return _outputs(self.side(0)[:n]), _outputs(self.side(1)[:n])


def replay(mechanism: Any, neighbours: Neighbours, unvarying: DistinctOutputs) -> Replayed:
    """Run copies of a function in fresh interpreters."""
    no_runs = Replayed((), unvarying)
    if not isinstance(mechanism, FunctionMechanism) or mechanism.form is None or mechanism.style is None:
        return no_runs
    style = "one-at-a-time" if mechanism.style == "many-runs" else mechanism.style
    changed = () if mechanism.first_runs is None else mechanism.first_runs.changed
    options: dict[str, Any] = {
        "style": style, "form": mechanism.form, "records": mechanism.records, "watched": changed,
    }  # fmt: skip
    with ThreadPoolExecutor(len(SIDE_ORDERS)) as pool:
        runs = pool.map(
            lambda seed: run(mechanism.function, neighbours, seed, sides=SIDE_ORDERS[seed], **options), SIDE_ORDERS
        )
        completed = [fresh for fresh in runs if fresh is not None]
    if len(completed) < len(SIDE_ORDERS):
        return no_runs
    return Replayed(
        tuple(completed), unvarying, state_before(mechanism.function), is_imported_again(mechanism.function)
    )


@dataclass(frozen=True)
class Suspicion:
    """A reason why trials that never varied may be one stored run.

    Args:
        what: the reason, a clause.
        copies_count: whether the fresh runs are independent nevertheless.
    """

    what: str
    copies_count: bool = False


def suspect_stored_run(first: FirstRuns, replayed: Replayed) -> Suspicion | None:
    """Return a reason why the trials of a function may be one stored run; None if there is none."""
    if not replayed.fresh:
        return Suspicion("the function cannot run in a fresh interpreter, which would detect stored results")
    if replayed.outside:
        return Suspicion(f"it reads {' and '.join(replayed.outside[:3])}")
    options = first.written if replayed.draws else ()  # a function that draws gets its noise there
    state = replayed.unexplained(tuple(name for name in first.held if name not in options))
    if state:
        return Suspicion(f"it stores {_listed(state)} from before the audit, which may be noise that was drawn once")
    kept = tuple(sorted({*first.changed, *replayed.differs}))
    if kept:
        return Suspicion(f"it keeps {_listed(kept)} from run to run", copies_count=True)
    return None


def suspect_noise_pool(first: FirstRuns, copies: Callable[[], Replayed]) -> Suspicion | None:
    """Return a reason why trials with repeated outputs may use noise that was drawn once; None if there is none.

    State that an import creates is compared to that of fresh `copies`, which are created only if there is a possible
    pool; state that is part of every copy cannot be compared.
    """
    if not first.pools:
        return None
    replayed = copies()
    if not replayed.fresh:
        return Suspicion(
            f"it stores {_listed(first.pools)}, and cannot run in a fresh interpreter, which would detect a pool"
        )
    if state := replayed.unexplained(tuple(name for name in first.pools if name in first.held)):
        return Suspicion(f"it stores {_listed(state)} from before the audit, which may be noise that was drawn once")
    differs = tuple(name for name in first.pools if name in replayed.differs)
    return (
        Suspicion(f"it stores {_listed(differs)}, which each process draws again", copies_count=True)
        if differs
        else None
    )


def suspect_shared_noise(
    first: FirstRuns, stored: tuple[str, ...], replayed: Replayed, runs: tuple[Outputs, Outputs]
) -> Suspicion | None:
    """Return a reason why all trials may share noise that was drawn once; None if there is none.

    Numbers of a module that fresh imports create anew, and state that the first runs filled and that differs between
    fresh runs on one dataset, are such noise unless the fresh runs refute the claim. Equal state in all fresh runs is
    not drawn. Other state is judged by the outputs.

    Null: the runs of a side in this process and the fresh runs are independent and identically distributed. Given all
    values, the number of fresh ones above a quantile of all is then hypergeometric. Each number of the output is tested
    at each of `TESTED_QUANTILES`, with Bonferroni's correction over numbers, quantiles and sides, at level
    `SHARED_LEVEL`.

    Args:
        first: findings of the first runs.
        stored: objects that the first runs changed, and later runs did not.
        replayed: fresh runs.
        runs: runs of each side in this process.
    """
    if not replayed.fresh:
        why = f"it keeps {_listed(stored)} from run to run, and cannot run in a fresh interpreter"
        return Suspicion(why) if stored else None
    if names := tuple(name for name in first.imported if name in replayed.differs):
        return Suspicion(f"it stores {_listed(names)}, which each process draws again", copies_count=True)
    if names := replayed.drawn_in(stored):
        return Suspicion(
            f"it keeps {_listed(names)} from run to run, which each process draws again", copies_count=True
        )
    if first.changed and _differ(replayed.outputs(), runs):
        what = f"it keeps {_listed(first.changed)} from run to run, and runs in fresh processes have another law"
        return Suspicion(what, copies_count=True)
    return None


def _differ(copies: tuple[Outputs, Outputs], runs: tuple[Outputs, Outputs]) -> bool:
    """Return True if the test of `suspect_shared_noise` rejects."""
    from scipy.stats import hypergeom

    p_values = []
    for known, fresh_runs in zip(runs, copies, strict=True):
        inside, fresh = _numbers(known), _numbers(fresh_runs)
        if not inside.size or not fresh.size or inside.shape[1] != fresh.shape[1]:
            continue
        pooled = np.concatenate([inside, fresh])
        thresholds = np.quantile(pooled, TESTED_QUANTILES, axis=0, method="nearest")[:, None]
        of_all, of_fresh = ((values > thresholds).sum(axis=1) for values in (pooled, fresh))
        law = hypergeom(len(pooled), of_all, len(fresh))
        p_values.append(2.0 * np.minimum(law.cdf(of_fresh), law.sf(of_fresh - 1)))
    n_tests = sum(p.size for p in p_values)
    return bool(n_tests) and n_tests * min(p.min() for p in p_values) <= SHARED_LEVEL


def _numbers(outputs: Outputs) -> NDArray[np.float64]:
    """Return the ordinary outputs as rows of numbers."""
    rows = np.reshape(np.asarray(outputs.values, dtype=np.float64), (len(outputs), -1))
    return rows if outputs.events is None else rows[outputs.events == ""]


def _listed(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return " and ".join(names[:3]) + more


def no_randomness(
    replayed: Replayed,
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
    if not replayed.reproduces_trials:
        return ()
    out, in_ = (_shown(replayed.side(side)[0], names) for side in (0, 1))
    seeded = any(one.drawn for side in (0, 1) for one in replayed._first(side))
    reason = "it sets its random state itself" if seeded else "it uses no random state that it receives"
    n_fresh = min(len(replayed.side(side)) for side in (0, 1))
    witness = Witness.against(
        claim,
        kind=WitnessKind.NO_RANDOMNESS,
        what=f"{mechanism} gave {out} on side 0 and {in_} on side 1 in every run, for every seed: {reason}.",
        delta=CERTAIN_DELTA,
        outputs=((out,), (in_,)),
        datasets=datasets,
        again=f"call it on each dataset in a fresh interpreter: {n_fresh:,} runs a side in {len(SIDE_ORDERS)} fresh "
        f"interpreters, with different seeds, and {n_runs:,} runs a side in the audit gave no other output.",
    )
    return (witness,)


def _log_chance(others: int, m: int, n: int) -> float:
    """Return the logarithm of C(m, j) / C(n + m, j), j the number of `others`."""
    return math.lgamma(m + 1) - math.lgamma(m - others + 1) - math.lgamma(n + m + 1) + math.lgamma(n + m - others + 1)


def _outputs(runs: Runs) -> Outputs:
    """Return runs as outputs; those of another shape than the first ordinary one are exceptional."""
    shape = next((one.shape for one in runs if not one.event), runs[0].shape)
    events = [one.event or ("" if one.shape == shape else f"shape {one.shape}") for one in runs]
    rows = [
        np.zeros(shape) if event else np.reshape(one.values, shape) for one, event in zip(runs, events, strict=True)
    ]
    return mark(Outputs(np.array(rows), np.array(events, dtype=np.str_) if any(events) else None))


def _digest(one: FreshRun) -> bytes:
    return common_output_digest(_outputs((one,))).tobytes()


def _shown(one: FreshRun, names: OutputNames) -> str:
    """Return the output as readable text."""
    values: Any = np.array(one.values) if len(one.values) != 1 else np.float64(one.values[0])
    return one.event or names.row(values)
