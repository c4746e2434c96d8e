"""Any Python function as a mechanism."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from ...core.base import Dataset, Mechanism, Neighbours, Outputs, Workers
from ...core.errors import (
    AlwaysRaisesError,
    ManyRunsError,
    NoAnswerError,
    ParameterError,
    RelationError,
    ReleaseError,
)
from ...core.guarantee import Guarantee
from ...core.output_names import OutputNames
from ...core.records import as_single_records, check_different, check_records
from ...core.validation import one_of
from .calls import FunctionCalls, Rows
from .forms import OutputRow, RaisedException, ResultForm, usual_form
from .guard import Guard, current_guard, cut, in_words, printable, short_repr
from .isolated_function import IsolatedCalls, IsolatedFunction
from .names import Name, ResultNames, common_names, names_of
from .outcomes import collect, collect_array
from .reading import copied_result, read_result
from .same_seed import MIN_SURPRISE, FirstRuns, SameSeed, compare, same_outputs, surprise
from .source import source_of, store_source
from .state import content_digest, is_small
from .target import STYLES, name_of, style_of

MAX_PROBE_RUNS = 5
"""Largest number of runs on each side that determine the usual form of a result."""
N_BATCH_RUNS = 64
"""Number of runs in a call that tests whether a function can make many runs at once."""
N_SEEDS = 4
"""Number of seeds with which single runs are made on both sides."""
AnyCalls = FunctionCalls | IsolatedCalls
"""Calls in this process, or in another one."""


@dataclass(frozen=True)
class FunctionMechanism(Mechanism):
    """Python function as a mechanism, with its author's claim and the pair on which it is audited.

    The function is called in one of three ways, determined by its parameters:

        one-run          f(dataset, rng)         returns one result
        many-runs        f(dataset, size, rng)   returns `size` results, an array with one row per run; fast
        own-randomness   f(dataset)              returns one result; no seed can repeat its runs

    A function of many runs whose first calls raise, or return the same for every rng, is called `one-at-a-time`: as
    f(dataset, 1, rng), so that an exception is the outcome of one run, and a repetition can be detected.

    A result is a number, an array, a tuple, or a dict of these; runs that return NaN, None or a string, that raise any
    exception (including `SystemExit` and `KeyboardInterrupt`), or that return an unusual form are events, and are
    kept. If the first runs show exceptional values (NaN, None, strings), or lengths that vary, rows keep all of
    their numbers: see `dpassay.mechanisms.adapters.functions.outcomes`. Running out of memory is an error, not an
    event.

    Args:
        function: see above. It must be picklable (with cloudpickle) to run on several workers: functions of a module,
            lambdas and closures all are.
        claim: the guarantee that is tested.
        neighbours: the pair; `relation` is taken from it.
        style: one of these names; None determines it by the parameters and the first runs.
        form: the usual form of a result; None determines it by a few runs of `function` at construction.
        first_runs: other findings of these runs; None determines them with the form.
        records: True if the datasets are collections of records, which are then checked to be neighbours; False for
            anything else, such as vectors of counts.

    Raises:
        ParameterError: `function` is not callable, or its parameters do not determine how to call it.
        RelationError: the claim and the pair have different relations.
        ReleaseError: the first runs show that the function cannot be called in this way: wrong number of results, an
            exception in every run, results that cannot be read, or a dataset that it changes.
        NeighboursError: `records` is True, and the pair is not neighbouring.

    Example:
        >>> from dpassay.mechanisms.accounting import PureDP
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
    form: ResultForm | None = field(default=None, repr=False)
    first_runs: FirstRuns | None = field(default=None, repr=False)
    seconds_per_run = 0.0  # in the last calls at construction, 0 if unknown; no field, because it determines no output
    records: bool = field(default=True, repr=False)
    unanswered: ClassVar[str] = ""  # why the first runs gave no answer; raised by every run
    named: ClassVar[tuple[Name, ...]] = ()  # names of the numbers of a result; no field, for the same reason

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.function):
            raise ParameterError(
                f"function must be callable, such as release(dataset, rng), but is {short_repr(self.function)}.",
                argument="function",
            )
        object.__setattr__(self, "relation", self.neighbours.relation)
        if self.claim.relation is not None and self.claim.relation is not self.relation:
            raise RelationError(
                f"claim holds for relation {self.claim.relation.value!r}, neighbours have {self.relation.value!r}. "
                "Give both the same relation."
            )
        is_style_given = self.style is not None
        if self.style is None:
            object.__setattr__(self, "style", style_of(self.function))
        one_of(STYLES, style=self.style)
        self.bind(self.neighbours)
        if self.form is None:
            vectorised = self.style == "many-runs" and not is_style_given
            try:
                with Guard(self.name):
                    object.__setattr__(self, "first_runs", self._run_first(vectorised=vectorised))
            except NoAnswerError as error:
                object.__setattr__(self, "unanswered", str(error))
                object.__setattr__(self, "form", ResultForm())

    def __str__(self) -> str:
        return f"{self.name}()"

    @property
    def name(self) -> str:
        """Name of the function, for messages."""
        return name_of(self.function)

    @property
    def workers(self) -> Workers:
        """Processes; `THIS_PROCESS` for own-randomness, whose runs are independent in one process only."""
        return Workers.THIS_PROCESS if self.style == "own-randomness" else Workers.PROCESSES

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return the outputs of `size` runs.

        Raises:
            ReleaseError: a many-runs function raises or does not return `size` results; memory runs out; or the
                dataset, unless it is large, was changed.
            NoAnswerError: a call takes longer than the time limit, or one of the first runs did.
        """
        if self.unanswered:
            raise NoAnswerError(self.unanswered)
        before = content_digest(dataset) if is_small(dataset) else None
        with Guard(self.name):
            outputs = self._release(dataset, size, rng)
        if before is not None and content_digest(dataset) != before:
            self._refuse_change()
        return outputs

    def _release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        assert self.form is not None
        if self.style == "many-runs":
            return self.outputs_of(self._many(dataset, size, rng, self._calls()))
        results = self._calls().singles(dataset, size, rng)
        current_guard().put_back()
        return self.outputs_of(results)

    def outputs_of(self, rows: Rows) -> Outputs:
        """Return the results of some runs, also those that another process made, as outputs.

        Args:
            rows: a numeric array with one row per run, or a list with one entry per run.

        Raises:
            ReleaseError: a result cannot be read.
        """
        assert self.form is not None
        return collect_array(rows, self.form) if isinstance(rows, np.ndarray) else collect(rows, self.form)

    def guarantee(self) -> Guarantee:
        return self.claim

    def worst_case(self) -> Neighbours:
        """Return the given pair, which need not be the worst."""
        return self.neighbours

    def exact_guarantee(self) -> None:
        """Return None: the exact curve is not known."""
        return

    def _check_pair(self, neighbours: Neighbours) -> None:
        if not self.records:
            check_different(neighbours)
        else:
            try:
                check_records(neighbours)
            except ParameterError as error:
                advice = (
                    "If the datasets are not collections of records, wrap the function in "
                    "FunctionMechanism(..., records=False)."
                )
                given, meant = (
                    None
                    if sides is None
                    else "d0 = {} and d1 = {}".format(*(cut(" ".join(repr(one).split())) for one in sides))
                    for sides in ((neighbours.d0, neighbours.d1), as_single_records(neighbours))
                )
                single = "" if meant is None else f" If a list of numbers is one record, give {meant}."
                raise type(error)(
                    f"{error} Given were {given}.{single} {advice}", argument=error.arguments, advice=advice
                ) from error

    @property
    def same_seed_shift(self) -> tuple[float, ...]:
        """Difference of the two sides in each number of the output at the same seed; empty if no seed repeats runs."""
        first = self.first_runs
        return () if first is None or first.ignores_rng or not first.repeated else first.compared.shift

    def _output_names(self, texts: Mapping[float, str]) -> OutputNames:
        assert self.form is not None
        return ResultNames(self.form, self.named, texts)

    def one_at_a_time(self) -> FunctionMechanism:
        """Return the same mechanism with one call per run, and new first runs."""
        return replace(self, style="one-at-a-time", form=None, first_runs=None)

    def _calls(self, seed: int | None = None) -> AnyCalls:
        """Return the calls of the function, with the global random states from a seed."""
        if isinstance(self.function, IsolatedFunction):
            return self.function.calls(str(self.style), seed, naming=self.form is None)
        return FunctionCalls(self.function, self.name, str(self.style), seed, naming=self.form is None)

    def _many(self, dataset: Dataset, size: int, rng: np.random.Generator, calls: AnyCalls) -> Rows:
        """Return the results of one call that makes `size` runs."""
        rows = calls.many(dataset, size, rng)
        if self.form is None:
            object.__setattr__(self, "named", calls.columns)
        return rows

    def _run_first(self, *, vectorised: bool) -> FirstRuns:
        """Determine the form, and return the findings of the first runs.

        A function of many runs whose calls raise, or repeat each other, is called one run at a time from then on,
        unless its style was given; then `vectorised` is False.
        """
        store_source(self.function)
        compared = None
        if vectorised:
            try:
                form, repeated, drew = self._usual_form()
                compared = self._at_once(form)
            except ManyRunsError:
                compared = None
            if compared is None:
                object.__setattr__(self, "style", "one-at-a-time")
        if compared is None:
            form, repeated, drew = self._usual_form()
        object.__setattr__(self, "form", form)
        if compared is None and self.style != "many-runs":
            compared = self._compared()
        source = source_of(self.function)
        generators = not repeated if source is None else source.generators
        return FirstRuns(repeated, not drew, generators, compared or SameSeed())

    def _at_once(self, form: ResultForm) -> SameSeed | None:
        """Return the findings of calls of many runs with the same seeds on both sides.

        Returns None if calls with different seeds repeat each other on some side, although their runs differ.

        Raises `ManyRunsError` where one of them raises.
        """
        results: list[list[list[Any]]] = [[], []]
        for seed in (1, 2):
            for side in (0, 1):
                rng, calls = np.random.default_rng([N_BATCH_RUNS, seed]), self._calls(seed)
                rows = self._many(self.neighbours.side(side), N_BATCH_RUNS, rng, calls)
                object.__setattr__(self, "seconds_per_run", calls.seconds / N_BATCH_RUNS)
                results[side].append([copied_result(row) for row in rows])
        for first, second in results:
            outputs1, outputs2 = collect(first, form), collect(second, form)
            if same_outputs(outputs1, outputs2) and surprise(outputs1) > MIN_SURPRISE:
                return None
        return compare(results[0][0], results[1][0], self.function)

    def _compared(self) -> SameSeed:
        """Return the findings of single runs with the same seeds on both sides."""
        results: list[list[Any]] = [[], []]
        seconds = 0.0
        for seed in range(N_SEEDS):
            for side in (0, 1):
                rng = np.random.default_rng([N_BATCH_RUNS, seed])
                calls = self._calls(seed)
                results[side] += calls.singles(self.neighbours.side(side), 1, rng)
                seconds += calls.seconds
        object.__setattr__(self, "seconds_per_run", seconds / (2 * N_SEEDS))
        return compare(results[0], results[1], self.function)

    def _usual_form(self) -> tuple[ResultForm, bool, bool]:
        """Return the form of the first results, and two flags: the same rng repeats them; some run drew from it.

        If no result is ordinary, the form is that of a number.

        Raises `ReleaseError` if every run on both sides raised, which is an error in the call, not a leak, and if
        a dataset was changed.
        """
        before = [content_digest(self.neighbours.side(side)) for side in (0, 1)]
        examples: list[tuple[Any, OutputRow]] = []
        n_raised = n_results = 0
        drew = self.style == "own-randomness"
        for attempt in range(MAX_PROBE_RUNS):
            probed = [self._probe(side, attempt) for side in (0, 1)]
            results = [result for side, _ in probed for result in side]
            drew = drew or any(moved for _, moved in probed)
            if attempt == 0:
                first = results
            if [content_digest(self.neighbours.side(side)) for side in (0, 1)] != before:
                self._refuse_change()
            read = [(result, read_result(result)) for result in results]
            new = [(result, outcome) for result, outcome in read if isinstance(outcome, OutputRow)]
            examples += new
            new_rows = [row for _, row in new]
            n_raised += sum(isinstance(result, RaisedException) for result in results)
            n_results += len(results)
            regular = len(new_rows) == len(results) and usual_form(new_rows).plain
            if regular and (self.style == "many-runs" or usual_form(new_rows).shape == ()):
                break
            if self.style == "many-runs" and attempt == 1:
                break
        if n_raised == n_results:
            self._explain_failure(results)
        form = usual_form(row for _, row in examples)
        if not self.named:
            object.__setattr__(
                self, "named", common_names(names_of(result, row.numbers.size) for result, row in examples)
            )
        repeated, _ = self._probe(0, 0)
        return form, same_outputs(collect(repeated, form), collect(first[: len(repeated)], form)), drew

    def _probe(self, side: int, attempt: int) -> tuple[list[Any], bool]:
        """Return one result (some for many runs) on one side, with a fixed rng, and whether the rng was used."""
        dataset, rng = self.neighbours.side(side), np.random.default_rng([attempt, side])
        before = rng.bit_generator.state
        if self.style == "many-runs":
            rows = self._many(dataset, (2, 2 * MAX_PROBE_RUNS)[attempt], rng, self._calls(attempt))
            results = [copied_result(result) for result in rows]
        else:
            results = self._calls(attempt).singles(dataset, 1, rng)
        return results, rng.bit_generator.state != before

    def _refuse_change(self) -> None:
        raise ReleaseError(
            f"{self.name} changes its dataset, so that its runs are not independent: work on a copy, as in "
            "data = copy.deepcopy(dataset)."
        )

    def _explain_failure(self, results: list[Any]) -> None:
        """Run once more on each side, and raise an error that shows the exceptions.

        For a function of many runs, `results` has its results instead.
        """
        if self.style == "many-runs":
            failed = [read_result(result).label for result in (results[0], results[-1])]
            raise AlwaysRaisesError(
                f"{self.name}: each of the first runs failed on both sides: {failed[0]}. Fix it, or the way it is "
                "called: a failure counts as an outcome only if some run succeeds.",
                same_on_both=failed[0] == failed[1],
            )
        errors = [self._calls().error(self.neighbours.side(side)) for side in (0, 1)]
        if errors[0] is None or errors[1] is None:
            return
        words = [_words(error) for error in errors if error is not None]
        (kind, _, text), (kind1, _, _) = (word.partition(": ") for word in words)
        message = text if words[0] == words[1] else f"{words[0]!r} on side 0, {words[1]!r} on side 1"
        call = {"own-randomness": "dataset", "one-at-a-time": "dataset, 1, rng"}.get(self.style or "", "dataset, rng")
        raised = kind if kind == kind1 else "an exception"
        works = self._calls().condition([self.neighbours.side(side) for side in (0, 1)])
        advice = (
            f"It returns a result if {works}."
            if works
            else "Fix the function, or call it in another one of (dataset, rng). An exception counts as an outcome "
            "only if some run succeeds; to audit it all the same, give FunctionMechanism(..., form=ResultForm()), with "
            "ResultForm of dpassay.mechanisms.adapters.functions.forms."
        )
        raise AlwaysRaisesError(
            f"{self.name}({call}) raised {raised} in each of {2 * MAX_PROBE_RUNS} first runs, on both sides: "
            f"{message}. {advice}",
            same_on_both=words[0] == words[1],
        ) from (errors[0] if isinstance(errors[0], BaseException) else None)


def _words(error: BaseException | RaisedException) -> str:
    if isinstance(error, BaseException):
        return in_words(error)
    return f"{error.error}: {printable(error.message)}" if error.message else error.error
