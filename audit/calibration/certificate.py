"""The coverage-and-power certificate: every bound on every law, measured.

    certificate = certify(plan, methods, seed=0)
    certificate.holds    no bound misses significantly more often than nominal
    certificate.cells    one row per method, law, delta, sizes and confidence

Null hypothesis of a cell: an audit misses (reports more than the exact epsilon) with probability at most the
significance. Misses of independent audits are then at most binomial, and a cell fails when they exceed the quantile
that a binomial exceeds with probability 1e-6 / (cells of bounds): Bonferroni, so a set of bounds that all keep their
level fails the certificate with probability at most 1e-6, under any dependence between cells. Cells are dependent: all
methods, deltas and confidences are measured on the same samples, so that they can be compared.

Fixed beforehand: laws, sizes, repeats, seed. The samples of a cell depend on the seed, its law and its sizes only, not
on the methods, on other cells, or on the number of workers.

Finished jobs are kept in a store, from which an interrupted certificate continues, with the same numbers.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.core import Floats, ParameterError, PositiveInt, check_fields, describe, open_unit, whole
from ..evidence.verdict import Verdict
from ..results.saved import Saved
from ..trials.array_files import Expected
from ..trials.options import RunOptions, versions
from ..trials.plan import plan_trials
from ..trials.progress import Reporter
from ..trials.store import TrialStore
from ..trials.workers import named_errors, options
from .cell import FALSE_ALARM, CertificateCell, check_cell, judged
from .laws import Law
from .methods import BOUND, KINDS, N_THRESHOLD_SCORES, CoverageSetup, Method, Sample

if TYPE_CHECKING:
    import pandas as pd

AUDITS_PER_JOB = 250
"""Number of audits that one job simulates, with a separate random stream."""
EPSILON_TOLERANCE = 1e-12
"""Relative excess over the exact epsilon that counts as rounding."""


@dataclass(frozen=True)
class CertificateSetting:
    """A law, with the deltas and sizes at which bounds are tested.

    Args:
        law: of the scores.
        deltas: in [0, 1).
        sizes: `(n_out, n_in)`, scores on each side, pilot included; at least 10 each.
        repeats: number of audits of each size.
        few: number of audits with slow methods; None for all, 0 for none.
    """

    law: Law
    deltas: tuple[float, ...]
    sizes: tuple[tuple[int, int], ...]
    repeats: PositiveInt
    few: int | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        whole(0, few=self.audits(slow=True))
        if not self.deltas or not self.sizes:
            raise ParameterError(
                f"deltas and sizes of {self.law.name!r} must not be empty.", argument=("deltas", "sizes")
            )
        for size in self.sizes:
            whole(10, n_out=size[0], n_in=size[1])

    def audits(self, *, slow: bool) -> int:
        """Return the number of audits of each size for a method."""
        return min(self.repeats, self.few) if slow and self.few is not None else self.repeats


@dataclass(frozen=True)
class CertificatePlan:
    """Settings, confidences and sizes of a certificate.

    Args:
        name: for the report.
        settings: laws with their deltas, sizes and repeats.
        confidences: nominal confidences of every bound.
        numbers: number of audits of each setting in which slow methods compute their value; in the others they only
            compare it to the true epsilon, which suffices for a miss. Where both are computed, either is a miss.
    """

    name: str
    settings: tuple[CertificateSetting, ...]
    confidences: tuple[float, ...] = (0.8, 0.95)
    numbers: PositiveInt = 100

    def __post_init__(self) -> None:
        check_fields(self)
        for confidence in self.confidences:
            open_unit(confidence=confidence)

    @property
    def n_audits(self) -> int:
        """Number of simulated audits."""
        return sum(job.repeats for job in _jobs(self))


@dataclass(frozen=True)
class Certificate(Saved):
    """All cells of a plan.

    Args:
        plan: name of the plan.
        seed: of all samples.
        cells: in the order of laws, sizes, deltas, confidences, methods.
        false_alarm: largest probability that valid bounds fail the certificate.
    """

    FORMAT: ClassVar[str] = "dpassay.certificate"
    VERSION: ClassVar[int] = 3
    DESCRIBED_BY: ClassVar[str] = "audit.calibration.text"

    plan: str
    seed: int
    cells: tuple[CertificateCell, ...]
    false_alarm: float = FALSE_ALARM

    @property
    def bounds(self) -> tuple[CertificateCell, ...]:
        """Cells of bounds, without peers and uncorrected methods."""
        return tuple(cell for cell in self.cells if cell.kind == BOUND)

    @property
    def failures(self) -> tuple[CertificateCell, ...]:
        """Cells of bounds with too many misses."""
        return tuple(cell for cell in self.bounds if not cell.holds)

    @property
    def holds(self) -> bool:
        """True if no cell of a bound has too many misses."""
        return not self.failures

    @property
    def undecided(self) -> tuple[CertificateCell, ...]:
        """Cells of bounds with so few audits that no number of misses is too many."""
        return tuple(cell for cell in self.bounds if not cell.decides)

    @property
    def decides(self) -> bool:
        """True if a bound that always misses would fail in some cell."""
        return len(self.undecided) < len(self.bounds)

    @property
    def verdict(self) -> Verdict:
        """Verdict on the coverage of all bounds: a violation if one misses too often."""
        return Verdict.VIOLATION if self.failures else Verdict.CONSISTENT if self.decides else Verdict.UNDERPOWERED

    def to_frame(self) -> pd.DataFrame:
        """Return one row per cell."""
        import pandas as pd

        names = ("significance", "miss_rate", "interval_low", "interval_high", "holds")
        derived = ((cell.significance, cell.miss_rate, *cell.interval, cell.holds) for cell in self.cells)
        rows = zip(self.cells, derived, strict=True)
        return pd.DataFrame([asdict(cell) | dict(zip(names, values, strict=True)) for cell, values in rows])

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods: bounds first, then the methods compared to them."""
        kinds = {cell.method: cell.kind for cell in self.cells}
        return tuple(sorted(kinds, key=lambda name: (KINDS.index(kinds[name]), name)))

    def of(self, method: str) -> tuple[CertificateCell, ...]:
        """Return the cells of one method."""
        return tuple(cell for cell in self.cells if cell.method == method)

    def check(self, at: str = "") -> None:
        """Raise `ResultError` if the allowed misses of a cell do not follow from its share of the false alarm."""
        for index, cell in enumerate(self.cells):
            check_cell(cell, max(len(self.bounds), 1), f"cells[{index}]")


def certify(
    plan: CertificatePlan,
    methods: Sequence[Method],
    *,
    seed: int,
    n_jobs: int | None = 1,
    store: Path | str | None = None,
    progress: bool | Reporter = False,
    made_by: Mapping[str, Any] | None = None,
) -> Certificate:
    """Simulate every cell of the plan.

    Args:
        plan: laws, sizes, confidences, repeats.
        methods: the methods under test, on the same samples.
        seed: of all samples, a whole number >= 0.
        n_jobs: number of processes, as for joblib; does not affect the result.
        store: directory for finished jobs, so that an interrupted certificate continues; None for no store.
        progress: True shows a bar when stderr is a terminal; or a `Reporter`.
        made_by: command and code, which must be the same to continue, JSON-ready; None for the versions of dpassay and
            numpy.

    Raises:
        ParameterError: no methods, or an invalid seed or number of processes.
        FingerprintError, StoreError: the store has another certificate, or cannot be written.

    Guarantees:
        * The certificate has the same bytes whether it ran through, or was killed and continued from its store.

    Example:
        >>> from dpassay.audit.calibration.laws import randomized_response
        >>> from dpassay.audit.calibration.methods import catalogue_methods, uncorrected
        >>> setting = CertificateSetting(randomized_response(1.0), (0.0,), ((50, 50),), repeats=200)
        >>> plan = CertificatePlan("one law", (setting,))
        >>> certificate = certify(plan, catalogue_methods(("simultaneous-band",)), seed=1)
        >>> certificate.holds, len(certificate.cells)
        (True, 2)
    """
    whole(0, seed=seed)
    if not methods:
        raise ParameterError("methods must contain at least one method, but is empty.", argument="methods")
    jobs, blocks = _jobs(plan), dict[_Job, _JobOutput]()
    about = {} if store is None else _description(plan, methods, seed) | {"made_by": made_by or versions()}
    with RunOptions(n_jobs, store, progress).opened(about) as (kept, reporter):
        reporter.start("simulated", plan.n_audits)
        for job, block in _run_jobs(jobs, plan, methods, seed, n_jobs, kept):
            blocks[job] = block
            reporter.advance(job.repeats)
    cells = [cell for case in _cases(plan) for cell in _cells(plan, methods, case, blocks)]
    n_bounds = sum(cell.kind == BOUND for cell in cells)
    return Certificate(plan.name, seed, tuple(judged(cell, max(n_bounds, 1)) for cell in cells))


@dataclass(frozen=True)
class _Case:
    """A law and its sizes, as indices into the plan."""

    setting: int
    size: int


@dataclass(frozen=True)
class _Job:
    """A block of the audits of a law and its sizes."""

    case: _Case
    block: int
    repeats: int

    @property
    def key(self) -> str:
        """Name in the store."""
        return f"setting-{self.case.setting}-size-{self.case.size}-block-{self.block}"


@dataclass(frozen=True, eq=False)
class _JobOutput:
    """Output of a job, arrays of shape `(statements, methods, repeats)`.

    Args:
        numbers: reported values; NaN where none was computed.
        above: 1 for a value above the true epsilon, 0 for another, -1 where the method did not run.
    """

    numbers: Floats
    above: NDArray[np.int8]


def _description(plan: CertificatePlan, methods: Sequence[Method], seed: int) -> dict[str, Any]:
    """Return everything that determines the numbers, except the code of dpassay."""
    settings = {f"{i} {setting.law.name}": describe(vars(setting)) for i, setting in enumerate(plan.settings)}
    return {
        "simulation": "certificate",
        "plan": describe({**vars(plan), "settings": settings}),
        "methods": {f"{i} {method.name}": describe(method) for i, method in enumerate(methods)},
        "seed": seed,
    }


def _cases(plan: CertificatePlan) -> Iterator[_Case]:
    for index, setting in enumerate(plan.settings):
        for size in range(len(setting.sizes)):
            yield _Case(index, size)


def _jobs(plan: CertificatePlan) -> list[_Job]:
    """Return blocks of audits, the most expensive first, so that workers finish at about the same time."""
    jobs = [
        _Job(case, block, min(AUDITS_PER_JOB, plan.settings[case.setting].repeats - start))
        for case in _cases(plan)
        for block, start in enumerate(range(0, plan.settings[case.setting].repeats, AUDITS_PER_JOB))
    ]
    return sorted(jobs, key=lambda job: -sum(plan.settings[job.case.setting].sizes[job.case.size]))


def _run_jobs(
    jobs: list[_Job],
    plan: CertificatePlan,
    methods: Sequence[Method],
    seed: int,
    n_jobs: int | None,
    store: TrialStore | None,
) -> Iterator[tuple[_Job, _JobOutput]]:
    """Yield each job with its output: first those in the store, then the others, which are saved there."""
    missing = []
    for job in jobs:
        n_statements = len(plan.settings[job.case.setting].deltas) * len(plan.confidences)
        shape = (n_statements, len(methods), job.repeats)
        expected = {"numbers": Expected("f", shape), "above": Expected("i", shape)}
        arrays = None if store is None else store.load(job.key, expected)
        if arrays is None:
            missing.append(job)
        else:
            yield job, _JobOutput(**arrays)
    for job, output in _simulated(missing, plan, methods, seed, n_jobs):
        if store is not None:
            store.save(job.key, vars(output))
        yield job, output


def _simulated(
    jobs: list[_Job], plan: CertificatePlan, methods: Sequence[Method], seed: int, n_jobs: int | None
) -> Iterator[tuple[_Job, _JobOutput]]:
    if n_jobs == 1 or not jobs:
        for job in jobs:
            yield _simulate(job, plan, methods, seed)
        return
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1, **options("processes"))
    with named_errors("a simulation", None):
        finished = parallel(delayed(_simulate)(job, plan, methods, seed) for job in jobs)
        try:
            yield from finished
        finally:
            with warnings.catch_warnings():  # joblib warns about discarded work when a run ends early
                warnings.filterwarnings("ignore", category=UserWarning, module="joblib")
                finished.close()


def _simulate(job: _Job, plan: CertificatePlan, methods: Sequence[Method], seed: int) -> tuple[_Job, _JobOutput]:
    """Simulate the audits of one job; all methods use the same samples, at every delta and confidence."""
    setting = plan.settings[job.case.setting]
    law, (n_out, n_in) = setting.law, setting.sizes[job.case.size]
    statements = list(product(setting.deltas, plan.confidences))
    root = [seed, zlib.crc32(f"{law.name}|{n_out}|{n_in}".encode())]
    rehearsal = next(law.draws(np.random.default_rng([*root, 0]), N_THRESHOLD_SCORES, N_THRESHOLD_SCORES))
    limits = [float(law.curve.epsilon(delta)) * (1.0 + EPSILON_TOLERANCE) for delta, _ in statements]
    until = [setting.audits(slow=method.slow) - job.block * AUDITS_PER_JOB for method in methods]
    measures = [
        [method.measure(CoverageSetup(law, delta, confidence, n_out, n_in, rehearsal)) if n_remaining > 0 else None
         for method, n_remaining in zip(methods, until, strict=True)]
        for delta, confidence in statements
    ]  # fmt: skip
    numbers = np.full((len(statements), len(methods), job.repeats), np.nan)
    above = np.full(numbers.shape, -1, dtype=np.int8)
    samples = _samples(law, n_out, n_in, np.random.SeedSequence([*root, 1, job.block]))
    for repeat, sample in zip(range(job.repeats), samples, strict=False):
        reports = job.block * AUDITS_PER_JOB + repeat < plan.numbers
        for i, j in np.ndindex(len(statements), len(methods)):
            measure = measures[i][j]
            if measure is None or repeat >= until[j]:
                continue
            if reports or not methods[j].slow:
                numbers[i, j, repeat] = measure(sample)
            missed = numbers[i, j, repeat] > limits[i]
            above[i, j, repeat] = missed or (methods[j].slow and measure.exceeds(sample, limits[i]))
    return job, _JobOutput(numbers, above)


def _samples(law: Law, n_out: int, n_in: int, seed: np.random.SeedSequence) -> Iterator[Sample]:
    """Yield audits of a law, each with a pilot of the size that `audit` uses."""
    pilot, rest, order = (np.random.default_rng(s) for s in seed.spawn(3))
    pilot_out, pilot_in = _pilot_size(n_out), _pilot_size(n_in)
    pilots, rests = law.draws(pilot, pilot_out, pilot_in), law.draws(rest, n_out - pilot_out, n_in - pilot_in)
    while True:
        yield Sample(next(pilots), next(rests), order.spawn(1)[0])


def _pilot_size(n: int) -> int:
    return plan_trials(n, bytes_per_run=8, learns=False, chooses=True, vectorised=True).pilot


def _cells(
    plan: CertificatePlan, methods: Sequence[Method], case: _Case, blocks: dict[_Job, _JobOutput]
) -> Iterator[CertificateCell]:
    """Yield the cells of one law and its sizes; `allowed` is set when the number of all cells is known."""
    setting = plan.settings[case.setting]
    n_out, n_in = setting.sizes[case.size]
    jobs = sorted((job for job in blocks if job.case == case), key=lambda job: job.block)
    numbers, above = (
        np.concatenate([getattr(blocks[job], name) for job in jobs], axis=-1) for name in ("numbers", "above")
    )
    for i, (delta, confidence) in enumerate(product(setting.deltas, plan.confidences)):
        exact = float(setting.law.curve.epsilon(delta))
        for j, method in enumerate(methods):
            was_run = above[i, j] >= 0
            if not was_run.any():
                continue
            values = numbers[i, j][~np.isnan(numbers[i, j])]
            low, median, high = (float(q) for q in np.quantile(values, (0.05, 0.5, 0.95)))
            yield CertificateCell(
                method=method.name,
                kind=method.kind,
                law=setting.law.name,
                delta=delta,
                exact_epsilon=exact,
                n_out=n_out,
                n_in=n_in,
                confidence=confidence,
                repeats=int(np.count_nonzero(was_run)),
                misses=int(np.count_nonzero(above[i, j] > 0)),
                allowed=0,
                numbers=len(values),
                mean=float(values.mean()),
                deviation=float(values.std()),
                low=low,
                median=median,
                high=high,
            )
