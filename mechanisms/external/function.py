"""Any Python function as a mechanism."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any

import numpy as np

from mechanisms.base import Dataset, Mechanism, Neighbours, Outputs
from mechanisms.errors import ParameterError, RelationError, ReleaseError
from mechanisms.external.mutation import fingerprint, is_small
from mechanisms.external.outcomes import Form, Raised, Row, collect, collect_array, cut, read, unmasked, usual_form
from mechanisms.guarantees.base import Guarantee
from mechanisms.records import check_different, check_records
from mechanisms.validation import one_of

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

    A result is a number, an array, a tuple, or a dict of these; runs that return NaN, None or a string, that raise or
    exit, or that return another form than usual are events, and are kept. Rows in which the first runs show odd parts
    (NaN, None, strings), or lengths that vary, keep all of their numbers: see `mechanisms.external.outcomes`.

    Args:
        function: see above. It must pickle (with cloudpickle) to run on several workers: functions of a module, lambdas
            and closures all do.
        claim: the guarantee that is tested.
        neighbours: the pair; `relation` is taken from it.
        style: one of the three names above; None decides by the parameters.
        form: the usual form of a result; None finds out by running `function` a few times when this is built.
        records: True if the datasets are collections of records, which are then checked to be neighbours; False for
            anything else, such as vectors of counts.

    Raises:
        ParameterError: `function` is not callable, or its parameters do not say how to call it.
        RelationError: the claim and the pair speak of different relations.
        ReleaseError: the first runs show that the function cannot be called so: wrong number of results, every run
            raises, results that cannot be read, or a dataset that it changes.
        NeighboursError: `records`, and the pair is not neighbouring.

    Example:
        >>> from mechanisms.guarantees import PureDP
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
    records: bool = field(default=True, repr=False)

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ParameterError(f"function must be callable, such as release(dataset, rng), but is {self.function!r}.")
        object.__setattr__(self, "relation", self.neighbours.relation)
        if self.claim.relation is not None and self.claim.relation is not self.relation:
            raise RelationError(
                f"claim speaks of relation {self.claim.relation.value!r}, neighbours of {self.relation.value!r}. Give "
                "both the same relation."
            )
        if self.style is None:
            object.__setattr__(self, "style", style_of(self.function))
        one_of(STYLES, style=self.style)
        self.check(self.neighbours)
        if self.form is None:
            object.__setattr__(self, "form", self._usual_form())

    def __str__(self) -> str:
        return f"{self.name}()"

    @property
    def name(self) -> str:
        """The function's name, for messages."""
        return name_of(self.function)

    @property
    def parallel(self) -> str:
        """ "processes"; "none" for own-randomness, whose runs are independent only in one process."""
        return "none" if self.style == "own-randomness" else "processes"

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """`size` runs.

        Raises:
            ReleaseError: a many-runs function raises or does not return `size` results; or the dataset, if it is not
                large, was changed.
        """
        before = fingerprint(dataset) if is_small(dataset) else None
        outputs = self._release(dataset, size, rng)
        if before is not None and fingerprint(dataset) != before:
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

    def truth(self) -> None:
        """Not known."""
        return

    def check(self, neighbours: Neighbours) -> None:
        super().check(neighbours)
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

    def _one(self, dataset: Dataset, rng: np.random.Generator) -> Any:
        """The result of one run, or `Raised` in its place."""
        try:
            return self.function(dataset) if self.style == "own-randomness" else self.function(dataset, rng)
        except MemoryError:
            raise
        except (Exception, SystemExit) as error:
            return Raised.by(error)

    def _many(self, dataset: Dataset, size: int, rng: np.random.Generator) -> np.ndarray[Any, Any] | list[Any]:
        """`size` results: a numeric array with one row a run, or a list with one entry a run."""
        try:
            results = self.function(dataset, size, rng)
        except ReleaseError:
            raise
        except (Exception, SystemExit) as error:
            raise ReleaseError(
                f"{self.name}(dataset, size={size}, rng) raised {type(error).__name__}: {error}. If single runs may "
                "fail, give a function release(dataset, rng) of one run: an exception then counts as the outcome of "
                "that run."
            ) from error
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

    def _usual_form(self) -> Form:
        """The form of the first results; the one of a number when none is ordinary.

        Raises `ReleaseError` when every run on both sides raised, which is a mistake in the call, not a leak, and when
        a dataset was changed.
        """
        before = [fingerprint(self.neighbours.side(side)) for side in (0, 1)]
        rows: list[Row] = []
        n_raised = 0
        for attempt in range(PROBES):
            results = [r for side in (0, 1) for r in self._probe(side, attempt, np.random.default_rng([attempt, side]))]
            if [fingerprint(self.neighbours.side(side)) for side in (0, 1)] != before:
                self._refuse_change()
            found = [outcome for outcome in map(read, results) if isinstance(outcome, Row)]
            rows += found
            n_raised += sum(isinstance(result, Raised) for result in results)
            regular = len(found) == len(results) and usual_form(found).plain
            if regular and (self.style == "many-runs" or usual_form(found).shape == ()):
                break
            if self.style == "many-runs" and attempt == 1:
                break
        if n_raised == 2 * PROBES:
            self._explain_failure()
        return usual_form(rows)

    def _probe(self, side: int, attempt: int, rng: np.random.Generator) -> list[Any]:
        """Results on one side: one of one run, some of many runs."""
        dataset = self.neighbours.side(side)
        if self.style == "many-runs":
            return list(self._many(dataset, (2, 2 * PROBES)[attempt], rng))
        return [self._one(dataset, rng)]

    def _refuse_change(self) -> None:
        raise ReleaseError(
            f"{self.name} changes its dataset, so that its runs are not independent: work on a copy, as in "
            "data = copy.deepcopy(dataset)."
        )

    def _explain_failure(self) -> None:
        """Runs once more on each side, and turns the exceptions into an error of ours that shows them."""
        errors = [self._error(side) for side in (0, 1)]
        if errors[0] is None or errors[1] is None:
            return
        kinds, texts = [type(error).__name__ for error in errors], [str(error) for error in errors]
        alike = kinds[0] == kinds[1] and texts[0] == texts[1]
        said = texts[0] if alike else f"{kinds[0]}({texts[0]!r}) on side 0, {kinds[1]}({texts[1]!r}) on side 1"
        call = "dataset" if self.style == "own-randomness" else "dataset, rng"
        raised = kinds[0] if kinds[0] == kinds[1] else "an exception"
        raise ReleaseError(
            f"{self.name}({call}) raised {raised} in each of {2 * PROBES} first runs, on both sides: {said}. Fix the "
            "function or its call (style=...); an exception counts as an outcome only if some run succeeds. On the "
            "command line, wrap the call in a function of (dataset, rng). To audit it all the same, give "
            "form=mechanisms.external.outcomes.Form()."
        ) from errors[0]

    def _error(self, side: int) -> BaseException | None:
        """What the function raises on that side, if anything."""
        arguments = () if self.style == "own-randomness" else (np.random.default_rng(0),)
        try:
            self.function(self.neighbours.side(side), *arguments)
        except (Exception, SystemExit) as error:
            return error
        return None


def style_of(function: Callable[..., Any]) -> str:
    """How `function` wants to be called: "one-run", "many-runs" or "own-randomness", by its parameters.

    Raises:
        ParameterError: the parameters do not tell.

    Example:
        >>> style_of(lambda dataset, rng: 0), style_of(lambda dataset, size, rng: 0), style_of(lambda dataset: 0)
        ('one-run', 'many-runs', 'own-randomness')
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    by_position = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [p for p in by_position if p.default is p.empty]
    forced = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    second = by_position[1].name if len(by_position) > 1 else ""
    if not forced:
        if len(required) == 3 or (len(by_position) >= 3 and second == "size"):
            return "many-runs"
        if second != "size" and (len(required) == 2 or second in ("rng", "generator")):
            return "one-run"
        if len(required) == 1:
            return "own-randomness"
    raise ParameterError(
        f"cannot tell how to call {function!r} from its parameters. Write it as release(dataset, rng), one run, or "
        "release(dataset, size, rng), many; or say which by FunctionMechanism(..., style=...), one of "
        f"{', '.join(STYLES)}. On the command line, wrap it in such a function of (dataset, rng)."
    )


def name_of(function: Callable[..., Any]) -> str:
    """What people call `function`; the arguments of a partial are shown.

    Example:
        >>> from functools import partial
        >>> name_of(partial(style_of, scale=0.1))
        'partial(style_of, scale=0.1)'
    """
    if isinstance(function, partial):
        given = [cut(repr(value)) for value in function.args]
        given += [f"{name}={cut(repr(value))}" for name, value in function.keywords.items()]
        return f"partial({', '.join([name_of(function.func), *given])})"
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None)
    return str(name or type(function).__qualname__)
