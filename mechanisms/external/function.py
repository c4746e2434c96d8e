"""Any Python function as a mechanism."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ..base import Dataset, Mechanism, Neighbours, Outputs, Workers
from ..errors import AlwaysRaisesError, DpassayError, ParameterError, RelationError, ReleaseError
from ..guarantees.base import Guarantee
from ..records import check_different, check_records
from ..validation import one_of
from .first_runs import FirstRuns, Snapshot
from .forms import Form, Raised, Row, usual_form
from .guard import Guard, current
from .labels import cut, in_words, printable, shown
from .mutation import content_digest, is_small
from .outcomes import collect, collect_array, read, taken, unmasked

STYLES = ("one-run", "many-runs", "own-randomness")
PROBES = 5
"""Runs of each side, at most, in which the usual form of a result is looked for."""


@dataclass(frozen=True)
class FunctionMechanism(Mechanism):
    """A Python function, with the guarantee that its author claims and the pair on which it is audited.

    The function is called in one of three ways, told apart by its parameters:

        one-run          f(dataset, rng)         returns one result
        many-runs        f(dataset, size, rng)   returns `size` results, an array with one row a run; fast
        own-randomness   f(dataset)              returns one result; no seed can repeat its runs

    A result is a number, an array, a tuple, or a dict of these; runs that return NaN, None or a string, that raise any
    exception (`SystemExit` and `KeyboardInterrupt` too), or that return another form than usual are events, and are
    kept. Rows in which the first runs show exceptional values (NaN, None, strings), or lengths that vary, keep all of
    their numbers: see `dpassay.mechanisms.external.outcomes`. Memory that runs out is an error, and no event.

    Args:
        function: see above. It must pickle (with cloudpickle) to run on several workers: functions of a module, lambdas
            and closures all do.
        claim: the guarantee that is tested.
        neighbours: the pair; `relation` is taken from it.
        style: one of the three names above; None decides by the parameters.
        form: the usual form of a result; None finds out by running `function` a few times when this is built.
        first_runs: what these runs showed besides; None finds out with the form.
        records: True if the datasets are collections of records, which are then checked to be neighbours; False for
            anything else, such as vectors of counts.

    Raises:
        ParameterError: `function` is not callable, or its parameters do not say how to call it.
        RelationError: the claim and the pair have different relations.
        ReleaseError: the first runs show that the function cannot be called so: wrong number of results, every run
            raises, results that cannot be read, or a dataset that it changes.
        NeighboursError: `records`, and the pair is not neighbouring.

    Example:
        >>> from dpassay.mechanisms.guarantees import PureDP
        >>> def release(dataset, size, rng):
        ...     return sum(dataset) + rng.laplace(scale=2.0, size=size)
        >>> pair = Neighbours([1, 0, 1], [1, 0, 1, 1], "add_remove")
        >>> mechanism = FunctionMechanism(release, claim=PureDP(0.5), neighbours=pair)
        >>> mechanism.release(pair.d1, 4, np.random.default_rng(0)).values.shape
        (4,)
    """

    function: Callable[..., Any]
    _: KW_ONLY
    claim: Guarantee
    neighbours: Neighbours = field(repr=False)
    style: str | None = field(default=None, repr=False)
    form: Form | None = field(default=None, repr=False)
    first_runs: FirstRuns | None = field(default=None, repr=False)
    records: bool = field(default=True, repr=False)

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ParameterError(
                f"function must be callable, such as release(dataset, rng), but is {shown(self.function)}.",
                argument="function",
            )
        object.__setattr__(self, "relation", self.neighbours.relation)
        if self.claim.relation is not None and self.claim.relation is not self.relation:
            raise RelationError(
                f"claim holds for relation {self.claim.relation.value!r}, neighbours have {self.relation.value!r}. "
                "Give both the same relation."
            )
        if self.style is None:
            object.__setattr__(self, "style", style_of(self.function))
        one_of(STYLES, style=self.style)
        self.fitted_to(self.neighbours)
        if self.form is None:
            with Guard(self.name):
                before = Snapshot.of(self.function)
                form, repeated = self._usual_form()
                object.__setattr__(self, "form", form)
                object.__setattr__(self, "first_runs", before.seen_after(self.function, repeated=repeated))

    def __str__(self) -> str:
        return f"{self.name}()"

    @property
    def name(self) -> str:
        """The function's name, for messages."""
        return name_of(self.function)

    @property
    def workers(self) -> Workers:
        """Processes; here only for own-randomness, whose runs are independent in one process only."""
        return Workers.HERE if self.style == "own-randomness" else Workers.PROCESSES

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """`size` runs.

        Raises:
            ReleaseError: a many-runs function raises or does not return `size` results; memory runs out; or the
                dataset, if it is not large, was changed.
        """
        before = content_digest(dataset) if is_small(dataset) else None
        with Guard(self.name):
            outputs = self._release(dataset, size, rng)
        if before is not None and content_digest(dataset) != before:
            self._refuse_change()
        return outputs

    def _release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        assert self.form is not None
        if self.style == "many-runs":
            results = self._many(dataset, size, rng)
            return collect_array(results, self.form) if isinstance(results, np.ndarray) else collect(results, self.form)
        return collect([self._one(dataset, rng) for _ in range(size)], self.form)

    def guarantee(self) -> Guarantee:
        """The claim."""
        return self.claim

    def worst_case(self) -> Neighbours:
        """The pair that was given: nobody knows whether it is the worst."""
        return self.neighbours

    def exact_guarantee(self) -> None:
        """Not known."""
        return

    def fitted_to(self, neighbours: Neighbours) -> Mechanism:
        super().fitted_to(neighbours)
        if not self.records:
            check_different(neighbours)
        else:
            try:
                check_records(neighbours)
            except ParameterError as error:
                raise type(error)(
                    f"{error} Given were d0 = {cut(repr(neighbours.d0))} and d1 = {cut(repr(neighbours.d1))}. If the "
                    "datasets are not collections of records, wrap the function in "
                    "FunctionMechanism(..., records=False)."
                ) from error
        return self

    def _one(self, dataset: Dataset, rng: np.random.Generator) -> Any:
        """The result of one run, or `Raised` in its place."""
        guard = current()
        guard.begin()
        try:
            return taken(self.function(dataset) if self.style == "own-randomness" else self.function(dataset, rng))
        except MemoryError as error:
            raise ReleaseError(
                f"{self.name} ran out of memory ({in_words(error)}), which says more about this machine than about the "
                "dataset, and is no outcome. Give it less to do, or catch MemoryError in it."
            ) from error
        except BaseException as error:
            return Raised.by(error)
        finally:
            guard.end()

    def _many(self, dataset: Dataset, size: int, rng: np.random.Generator) -> np.ndarray[Any, Any] | list[Any]:
        """`size` results: a numeric array with one row a run, or a list with one entry a run."""
        guard = current()
        guard.begin()
        try:
            return self._rows(self.function(dataset, size, rng), size)
        except DpassayError:
            raise
        except BaseException as error:
            raise ReleaseError(
                f"{self.name}(dataset, size={size}, rng) raised {in_words(error)}. If single runs may "
                "fail, give a function release(dataset, rng) of one run: an exception then counts as the outcome of "
                "that run."
            ) from error
        finally:
            guard.end()

    def _rows(self, results: Any, size: int) -> np.ndarray[Any, Any] | list[Any]:
        """What a function of many runs returned, one row or entry a run."""
        if isinstance(results, dict):
            results = self._columns(results)
        array = results if isinstance(results, list) else np.asarray(unmasked(getattr(results, "values", results)))
        shape = (len(array),) if isinstance(array, list) else array.shape
        if not shape or shape[0] != size:
            raise ReleaseError(
                f"{self.name} was asked for size={size} runs and returned shape {shape}: expected one row a run, "
                f"({size},) or ({size}, ...). Give a function release(dataset, rng) if it does one run at a time."
            )
        if isinstance(array, list):
            return array
        return array if array.dtype.kind in "biuf" else list(array)

    def _columns(self, results: dict[str, Any]) -> np.ndarray[Any, Any] | list[dict[str, Any]]:
        """A dict of arrays with one row a run, side by side in the order of its keys; one dict a run if not all are
        numbers."""
        parts = {key: np.asarray(unmasked(results[key])) for key in sorted(results, key=str)}
        if len({len(part) if part.ndim else -1 for part in parts.values()}) != 1 or any(
            not part.ndim for part in parts.values()
        ):
            shapes = ", ".join(f"{key}: {part.shape}" for key, part in parts.items())
            raise ReleaseError(
                f"{self.name} returned a dict whose entries must all have one row a run, but they are {shapes}."
            )
        if any(part.dtype.kind not in "biuf" for part in parts.values()):
            return [dict(zip(parts, row, strict=True)) for row in zip(*parts.values(), strict=True)]
        return np.concatenate([part.reshape(len(part), -1) for part in parts.values()], axis=1)

    def _usual_form(self) -> tuple[Form, bool]:
        """The form of the first results, that of a number when none is ordinary; and whether the same rng repeats them.

        Raises `ReleaseError` when every run on both sides raised, which is a mistake in the call, not a leak, and when
        a dataset was changed.
        """
        before = [content_digest(self.neighbours.side(side)) for side in (0, 1)]
        rows: list[Row] = []
        n_raised = n_seen = 0
        for attempt in range(PROBES):
            results = [r for side in (0, 1) for r in self._probe(side, attempt)]
            if attempt == 0:
                first = results
            if [content_digest(self.neighbours.side(side)) for side in (0, 1)] != before:
                self._refuse_change()
            found = [outcome for outcome in map(read, results) if isinstance(outcome, Row)]
            rows += found
            n_raised += sum(isinstance(result, Raised) for result in results)
            n_seen += len(results)
            regular = len(found) == len(results) and usual_form(found).plain
            if regular and (self.style == "many-runs" or usual_form(found).shape == ()):
                break
            if self.style == "many-runs" and attempt == 1:
                break
        if n_raised == n_seen:
            self._explain_failure(results)
        form = usual_form(rows)
        again = self._probe(0, 0)
        return form, _same(collect(again, form), collect(first[: len(again)], form))

    def _probe(self, side: int, attempt: int) -> list[Any]:
        """Results on one side: one of one run, some of many runs; always from the same rng."""
        dataset, rng = self.neighbours.side(side), np.random.default_rng([attempt, side])
        if self.style == "many-runs":
            return [taken(result) for result in self._many(dataset, (2, 2 * PROBES)[attempt], rng)]
        return [self._one(dataset, rng)]

    def _refuse_change(self) -> None:
        raise ReleaseError(
            f"{self.name} changes its dataset, so that its runs are not independent: work on a copy, as in "
            "data = copy.deepcopy(dataset)."
        )

    def _explain_failure(self, results: list[Any]) -> None:
        """Runs once more on each side, and turns the exceptions into an error of ours that shows them; `results` are
        what many runs at once gave instead."""
        if self.style == "many-runs":
            failed = [read(result).label for result in (results[0], results[-1])]
            raise AlwaysRaisesError(
                f"{self.name}: each of the first runs failed on both sides: {failed[0]}. Fix it, or the way it is "
                "called: a failure counts as an outcome only if some run succeeds.",
                alike=failed[0] == failed[1],
            )
        errors = [self._error(side) for side in (0, 1)]
        if errors[0] is None or errors[1] is None:
            return
        words = [in_words(error) for error in errors if error is not None]
        (kind, _, text), (kind1, _, _) = (one.partition(": ") for one in words)
        said = text if words[0] == words[1] else f"{words[0]!r} on side 0, {words[1]!r} on side 1"
        call = "dataset" if self.style == "own-randomness" else "dataset, rng"
        raised = kind if kind == kind1 else "an exception"
        raise AlwaysRaisesError(
            f"{self.name}({call}) raised {raised} in each of {2 * PROBES} first runs, on both sides: {said}. Fix the "
            "function or its call (style=...); an exception counts as an outcome only if some run succeeds. On the "
            "command line, wrap the call in a function of (dataset, rng). To audit it all the same, give "
            "form=dpassay.mechanisms.external.outcomes.Form().",
            alike=words[0] == words[1],
        ) from errors[0]

    def _error(self, side: int) -> BaseException | None:
        """What the function raises on that side, if anything."""
        arguments = () if self.style == "own-randomness" else (np.random.default_rng(0),)
        try:
            self.function(self.neighbours.side(side), *arguments)
        except BaseException as error:
            return error
        return None


def _same(one: Outputs, other: Outputs) -> bool:
    """Whether two releases gave the same outputs."""
    labels = [["" for _ in range(len(part))] if part.events is None else part.events.tolist() for part in (one, other)]
    return bool(np.array_equal(one.values, other.values)) and labels[0] == labels[1]


def style_of(function: Callable[..., Any]) -> str:
    """How `function` wants to be called: "one-run", "many-runs" or "own-randomness", by its parameters.

    Raises:
        ParameterError: the parameters do not show which.

    Example:
        >>> style_of(lambda dataset, rng: 0), style_of(lambda dataset, size, rng: 0), style_of(lambda dataset: 0)
        ('one-run', 'many-runs', 'own-randomness')
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except Exception:  # also what a hostile __signature__ raises
        parameters = []
    by_position = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [p for p in by_position if p.default is p.empty]
    forced = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    second = by_position[1].name if len(by_position) > 1 else ""
    _check_places(function, [p.name for p in required])
    if not forced:
        if len(required) == 3 or (len(by_position) >= 3 and second == "size"):
            return "many-runs"
        if second != "size" and (len(required) == 2 or second in ("rng", "generator")):
            return "one-run"
        if len(required) == 1:
            return "own-randomness"
    raise ParameterError(
        f"cannot tell how to call {shown(function)} from its parameters. Write it as release(dataset, rng), one run, "
        "or release(dataset, size, rng), many; or say which by FunctionMechanism(..., style=...), one of "
        f"{', '.join(STYLES)}. On the command line, wrap it in such a function of (dataset, rng)."
    )


GENERATORS = ("rng", "generator", "random_state", "seed")
OPTIONS = ("eps", "epsilon", "delta", "scale", "sigma", "sensitivity", "noise_multiplier")
DATASETS = ("dataset", "data", "d", "X", "x", "df", "records", "db", "database")


def _check_places(function: Callable[..., Any], names: list[str]) -> None:
    """Raises `ParameterError` for a parameter whose name says that it is not what stands in its place."""
    given = ("the dataset", "the rng") if len(names) < 3 else ("the dataset", "size", "the rng")
    wrong = [
        (place, name, what)
        for place, (name, what) in enumerate(zip(names, given, strict=False))
        if (name in (*GENERATORS, "size") and what == "the dataset")
        or (name in (*OPTIONS, *DATASETS) and what != "the dataset")
        or (name in GENERATORS and what == "size")
        or (name == "size" and what == "the rng")
    ]
    if wrong:
        place, name, what = wrong[0]
        raise ParameterError(
            f"parameter {place + 1} of {name_of(function)} is called {name!r}, but is given {what}: a function is "
            "called as release(dataset, rng) or release(dataset, size, rng). Rename it, change the order, or fix its "
            f"value: functools.partial({name_of(function)}, {name}=...)."
        )


def name_of(function: Callable[..., Any]) -> str:
    """What people call `function`; the arguments of a partial are shown.

    Example:
        >>> from functools import partial
        >>> name_of(partial(style_of, scale=0.1))
        'partial(style_of, scale=0.1)'
    """
    if isinstance(function, partial):
        given = [shown(value) for value in function.args]
        given += [f"{name}={shown(value)}" for name, value in function.keywords.items()]
        return f"partial({', '.join([name_of(function.func), *given])})"
    try:
        name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None)
        return printable(str(name or type(function).__qualname__))
    except Exception:  # a property of it that raises
        return printable(type.__getattribute__(type(function), "__qualname__"))
