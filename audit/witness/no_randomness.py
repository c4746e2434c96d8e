"""Outputs that never vary, and what runs in fresh interpreters say of them: no randomness, a memory, or chance.

In one process a function may give the same output again and again for three reasons. Runs in interpreters of their own,
each with a copy of the function that has not run before, and with other seeds, tell some of them apart:

    other outputs              more often than chance explains, if all runs were independent: in one process an earlier
                               result was given again. The runs are dependent: no verdict
    the same outputs again     it draws nothing, or from a generator that it seeds with a constant or with its data; or
                               what it draws, and no one sees, did not show in these runs; or all copies hold noise that
                               was drawn before. A finding, and no proof: the verdict is left to the bounds
    neither can be said        the function cannot be run elsewhere, or it reads what may be a memory (files,
                               connections, the hash of a text)

**The test.** Null: the n trials of a side and its m fresh runs are independent and identically distributed. If j of the
n + m outputs differ from the only one that the trials gave, each choice of j of the n + m places is as likely as any
other, so that all of them are fresh runs with probability C(m, j) / C(n + m, j). Two sides are tested: twice the
smaller one. m is `COPIES` for each interpreter, or less where time runs out; it does not depend on outputs.

**Where a bound refutes the claim.** If no trial of either side varied, they may be one run that is remembered, and n is
then not their number. Whether that can be excluded is asked of what the function holds and reads: see `doubt`.
What it changed in its first runs, or holds otherwise than a copy, is not in the copies, so that these are independent
runs: where they refute the claim by themselves, it is refuted. Numbers that every copy holds, files, and what cannot be
run elsewhere leave no verdict.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...attacks.events import mark
from ...mechanisms.base import Neighbours, Outputs
from ...mechanisms.external.calls.fresh import Fresh, FreshRun, Runs, is_made_anew, run
from ...mechanisms.external.first_runs import FirstRuns, state_before
from ...mechanisms.external.function import FunctionMechanism
from ...mechanisms.guarantees.base import Guarantee
from ..trials.guards.independence import Dependence
from ..trials.guards.unvarying import Unvarying, only_output
from .base import CERTAIN, Kind, Witness
from .impossible import in_words

ORDERS = {1: (0, 1), 2: (1, 0)}
"""Seeds of the fresh interpreters, and the order of the sides in each: what one run leaves to the next shows."""
REPEATED = "every run in one process gave the same output, but a run in a fresh one gives another"
EXPLAIN_POOL = "outputs come again and again, as if their noise were of a pool"
EXPLAIN = "every run gave the same output, which may be an earlier result that was given again"


@dataclass(frozen=True)
class Replayed:
    """What runs in fresh interpreters gave.

    Args:
        fresh: of each of them; empty where they could not be made.
        unvarying: what the trials gave.
        before: digests of what the function held before it first ran here, by name.
        made_anew: whether the copies were made anew by an import, and not from a pickle.
    """

    fresh: tuple[Fresh, ...]
    unvarying: Unvarying
    before: Mapping[str, str] | None = None
    made_anew: bool = False

    def side(self, side: int) -> Runs:
        """All runs on one side."""
        return tuple(one for fresh in self.fresh for one in (fresh.in_ if side else fresh.out))

    def dependence(self, n_runs: int, significance: float) -> Dependence | None:
        """Why the trials are not independent, by the test above, of `n_runs` trials a side; None where nothing says
        so."""
        sides = [side for side in self.unvarying.sides if self.side(side)]
        found = {side: _log_chance(self._others(side), len(self.side(side)), n_runs) for side in sides}
        if not found:
            return None
        p_value = min(1.0, 2.0 * math.exp(min(found.values())))
        if p_value > significance:
            return None
        seen = tuple(side for side in sides if self._others(side))
        return Dependence("memory", seen[0] if len(seen) == 1 else None, p_value, REPEATED)

    def _others(self, side: int) -> int:
        """Fresh runs that gave something else than every trial."""
        return sum(not self.unvarying.is_only(side, _digest(one)) for one in self.side(side))

    @cached_property
    def outside(self) -> tuple[str, ...]:
        """What the runs read that may be a memory; entropy, drawn anew each time, is none."""
        runs = (*self.side(0), *self.side(1))
        return tuple(sorted({name for one in runs for name in one.outside if name != "entropy"}))

    @cached_property
    def differs(self) -> tuple[str, ...]:
        """Names of what copies that were made anew hold otherwise than this process did, or than each other."""
        if not self.made_anew or self.before is None:
            return ()
        held = (self.before, *(one.kept for one in self.fresh))
        names = sorted(set().union(*held))
        return tuple(name for name in names if len({one.get(name) for one in held}) > 1)

    def unexplained(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Those of the `names` of what a function holds that no import makes again as they are."""
        before = self.before or {}
        return tuple(
            name
            for name in names
            if name not in before or any(one.constants.get(name) != before[name] for one in self.fresh)
        )

    @property
    def alike(self) -> bool:
        """Whether each side gave one output, that of the trials, whatever the seeds, and nothing else was read."""
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
        """Whether every run is seen to draw, if only from a generator that it sets to one state before."""
        return all(one.drawn or "entropy" in one.outside for side in (0, 1) for one in self._first(side))

    def _first(self, side: int) -> Runs:
        """The first run of each interpreter, of which the randomness is known."""
        return tuple((one.in_ if side else one.out)[0] for one in self.fresh)

    def outputs(self) -> tuple[Outputs, Outputs]:
        """All runs of each side, as many of one as of the other, as outputs of the mechanism."""
        n = min(len(self.side(0)), len(self.side(1)))
        return _outputs(self.side(0)[:n]), _outputs(self.side(1)[:n])


def replay(mechanism: Any, neighbours: Neighbours, unvarying: Unvarying) -> Replayed:
    """Runs copies of a function in fresh interpreters."""
    nothing = Replayed((), unvarying)
    if not isinstance(mechanism, FunctionMechanism) or mechanism.form is None or mechanism.style is None:
        return nothing
    style = "one-at-a-time" if mechanism.style == "many-runs" else mechanism.style
    asked: dict[str, Any] = {"style": style, "form": mechanism.form, "records": mechanism.records}
    with ThreadPoolExecutor(len(ORDERS)) as pool:
        runs = pool.map(lambda seed: run(mechanism.function, neighbours, seed, sides=ORDERS[seed], **asked), ORDERS)
        found = [one for one in runs if one is not None]
    if len(found) < len(ORDERS):
        return nothing
    return Replayed(tuple(found), unvarying, state_before(mechanism.function), is_made_anew(mechanism.function))


@dataclass(frozen=True)
class Doubt:
    """Why trials that never varied may be one run that is remembered.

    Args:
        what: a clause.
        copies_count: whether the fresh runs are independent all the same.
    """

    what: str
    copies_count: bool = False


def doubt(first: FirstRuns, replayed: Replayed) -> Doubt | None:
    """Why the trials of a function may be one run that is remembered; None where nothing says so."""
    if not replayed.fresh:
        return Doubt("the function cannot be run in a fresh interpreter, which would show whether it remembers")
    if replayed.outside:
        return Doubt(f"it reads {' and '.join(replayed.outside[:3])}")
    options = first.written if replayed.draws else ()  # what draws has its noise from there
    held = replayed.unexplained(tuple(name for name in first.held if name not in options))
    if held:
        return Doubt(f"it holds {_listed(held)} from before the audit, which may be noise that was drawn once")
    kept = tuple(sorted({*first.changed, *replayed.differs}))
    if kept:
        return Doubt(f"it keeps {_listed(kept)} from run to run", copies_count=True)
    return None


def doubt_of_a_pool(first: FirstRuns, copies: Callable[[], Replayed]) -> Doubt | None:
    """Why trials whose outputs come again may all draw from noise that was drawn once; None where nothing says so.

    What an import makes anew is compared with that of fresh `copies`, which are asked for where something looks like a
    pool; what travels in every copy cannot be.
    """
    if not first.pools:
        return None
    replayed = copies()
    if not replayed.fresh:
        return Doubt(f"it holds {_listed(first.pools)}, and cannot be run in a fresh interpreter, which would show")
    if held := replayed.unexplained(tuple(name for name in first.pools if name in first.held)):
        return Doubt(f"it holds {_listed(held)} from before the audit, which may be noise that was drawn once")
    differs = tuple(name for name in first.pools if name in replayed.differs)
    return Doubt(f"it holds {_listed(differs)}, which each process draws anew", copies_count=True) if differs else None


def _listed(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return " and ".join(names[:3]) + more


def no_randomness(
    replayed: Replayed, claim: Guarantee, *, mechanism: str, n_runs: int, datasets: tuple[str, str] | None
) -> tuple[Witness, ...]:
    """The finding; none where the runs vary, or where what they read may explain that they do not."""
    if not replayed.alike:
        return ()
    out, in_ = (_shown(replayed.side(side)[0]) for side in (0, 1))
    seeded = any(one.drawn for side in (0, 1) for one in replayed._first(side))
    why = "it sets the random state that it draws from itself" if seeded else "no random state given to it moves"
    n_fresh = min(len(replayed.side(side)) for side in (0, 1))
    witness = Witness.against(
        claim,
        kind=Kind.NO_RANDOMNESS,
        what=f"{mechanism} gave {out} on side 0 and {in_} on side 1 in every run, whatever the seed: {why}.",
        delta=CERTAIN,
        outputs=((out,), (in_,)),
        datasets=datasets,
        again=f"call it on each dataset in a fresh interpreter: {n_fresh:,} runs a side in {len(ORDERS)} of these, "
        f"with different seeds, and {n_runs:,} runs a side here gave nothing else.",
    )
    return (witness,)


def _log_chance(others: int, m: int, n: int) -> float:
    """Logarithm of C(m, j) / C(n + m, j), j the number of `others`."""
    return math.lgamma(m + 1) - math.lgamma(m - others + 1) - math.lgamma(n + m + 1) + math.lgamma(n + m - others + 1)


def _outputs(runs: Runs) -> Outputs:
    """Runs as outputs; those of another shape than the first ordinary one are exceptional."""
    shape = next((one.shape for one in runs if not one.event), runs[0].shape)
    events = [one.event or ("" if one.shape == shape else f"shape {one.shape}") for one in runs]
    rows = [
        np.zeros(shape) if event else np.reshape(one.values, shape) for one, event in zip(runs, events, strict=True)
    ]
    return mark(Outputs(np.array(rows), np.array(events, dtype=np.str_) if any(events) else None))


def _digest(one: FreshRun) -> bytes:
    return only_output(_outputs((one,))).tobytes()


def _shown(one: FreshRun) -> str:
    """The output as a person reads it."""
    return one.event or in_words(np.array(one.values) if len(one.values) != 1 else np.float64(one.values[0]))


__all__ = ["Doubt", "Replayed", "doubt", "doubt_of_a_pool", "no_randomness", "replay"]
