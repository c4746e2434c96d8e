"""`dpassay calibrate`: coverage and power of all bounds.

task (plan, methods) -> certificate -> certificate.csv, certificate.json, figures, report.html
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ...audit.calibration.certificate import Certificate, CertificatePlan, CertificateSetting, certify
from ...audit.calibration.laws import (
    Law,
    all_equal,
    gaussian,
    geometric,
    k_ary_randomized_response,
    laplace,
    laplace_ratio,
    no_leak,
    randomized_response,
    subsampled_gaussian,
)
from ...audit.calibration.methods import Method, catalogue_methods, uncorrected
from ...audit.calibration.published import published_rules
from ...audit.trials.folder import Folder
from ...audit.trials.options import RunOptions
from ...mechanisms.core import ParameterError, StoreError, csv_cell, listed, whole
from ..present.results.provenance import HOME, digest_of, environment, versions
from ..tasks.base import HERE, CommandTask

if TYPE_CHECKING:
    from ..present.pages import Drawn

OUT = Path("runs") / "certificate"
TITLE = "Coverage of the lower bounds"
"""Title of the page."""
TRIALS = "trials/certificate"
"""Folder of the finished simulations in the directory."""
UNEQUAL = ((20, 2_000), (2_000, 20))
NO_LEAK_SIZES = ((605, 605), (2_722, 2_722))
"""Scores a side from which 1,001 and 5,001 canaries of one run are made."""
BESIDE_PUBLISHED = (
    "clopper-pearson",
    "joint-exact",
    "simultaneous-band",
    "one-run",
    "one-run-fdp",
    "one-run-independent",
)
"""Bounds that are measured next to the rules of published audits."""
CODE = ("mechanisms", "audit")
"""Folders with the code that decides the numbers."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Calibration(CommandTask):
    """Coverage and power of bounds: `dpassay calibrate`.

    Args:
        full, published, repeats, peers, seed: see `calibrate`.
        bound: its `bounds`.

    Raises:
        UnknownNameError: no such bound.
        ParameterError: two plans, a number out of range, a bound without a law, or peers that are not installed.
    """

    command: ClassVar[str] = "calibrate"

    full: bool = False
    published: bool = False
    bound: tuple[str, ...] = ()
    repeats: int | None = None
    peers: bool = False
    seed: int

    def __post_init__(self) -> None:
        if self.full and self.published:
            raise ParameterError("full and published are two plans: give one of them.", argument=("full", "published"))
        assert self.plan.settings  # raises for repeats out of range
        assert self.methods  # raises for bounds without a law
        whole(0, seed=self.seed)

    @cached_property
    def plan(self) -> CertificatePlan:
        """Laws, sizes and repeats."""
        plan_of = _no_leak_plan if self.published else full_plan if self.full else quick_plan
        return plan_of() if self.repeats is None else plan_of(self.repeats)

    @cached_property
    def methods(self) -> list[Method]:
        """Bounds, and what is measured beside them."""
        if without_law := [name for name in self.bound if not catalogue_methods((name,))]:
            raise ParameterError(
                f"bound {listed(without_law)} reads no scores of pairs or bits, so there is no law for it. Leave it "
                "out.",
                argument="bound",
            )
        names = tuple(dict.fromkeys(self.bound)) or (BESIDE_PUBLISHED if self.published else ())
        methods: list[Method] = [*catalogue_methods(names), *uncorrected()]
        if self.published:
            methods += published_rules()
        if self.peers:
            from ...audit.calibration.peers import jax_privacy_methods

            methods += jax_privacy_methods()
        return methods

    def estimate(self) -> int:
        """Return the number of simulated audits."""
        return self.plan.n_audits

    def run(self, options: RunOptions = HERE) -> Certificate:
        """Simulate the audits that are not in the store, by the same code."""
        made_by = {"command": self.command_line, "code": digest_of(HOME, CODE), "versions": versions()}
        return certify(self.plan, self.methods, seed=self.seed, made_by=made_by, **vars(options))

    def answer(self, evidence: Certificate) -> Certificate:
        """Return the certificate."""
        return evidence


@dataclass(frozen=True)
class CalibrationRun:
    """A finished certificate, and its files.

    Args:
        certificate: the numbers.
        directory, files: the run directory, and the files in it.
    """

    certificate: Certificate
    directory: Path
    files: tuple[Path, ...]

    @property
    def page(self) -> Path:
        """Path of the report."""
        return self.directory / "report.html"


def laws() -> list[tuple[Law, tuple[float, ...]]]:
    """Return the laws of the certificate, with the deltas at which each is tested."""
    return [
        (laplace_ratio(1.0), (0.0,)),
        (laplace(1.0), (0.0,)),
        (geometric(0.7), (0.0,)),
        (randomized_response(1.0), (0.0,)),
        (k_ary_randomized_response(2.0, 8), (0.0,)),
        (randomized_response(1.0, 0.1), (0.1,)),
        (gaussian(1.0), (1e-5, 0.01, 0.1)),
        (subsampled_gaussian(0.7, 0.3), (0.01,)),
        (all_equal(), (0.0,)),
    ]


def full_plan(repeats: int = 2_000) -> CertificatePlan:
    """Return the plan with 20 to 100,000 trials a side, `repeats` audits up to 1,000 trials, fewer beyond."""
    return CertificatePlan(
        "full",
        (
            *_settings((20, 100), repeats, few=repeats, unequal=True),
            *_settings((1_000,), repeats, few=repeats // 4),
            *_settings((10_000,), -(-repeats // 4), few=repeats // 10),
            *_settings((100_000,), -(-repeats // 25), few=repeats // 100),
        ),
        numbers=60,
    )


def quick_plan(repeats: int = 200) -> CertificatePlan:
    """Return the plan with 20, 100 and 1,000 trials a side; slow methods at 100 only: about a minute on one core."""
    return CertificatePlan(
        "quick",
        (
            *_settings((20,), repeats, few=0, unequal=True),
            *_settings((100,), repeats, few=-(-repeats // 5), slowest=0),
            *_settings((1_000,), -(-repeats // 2), few=0),
        ),
        numbers=12,
    )


def _no_leak_plan(repeats: int = 1_000) -> CertificatePlan:
    """Return the plan on scores that leak nothing, with 1,001 and 5,001 canaries of one run; slow methods run less."""
    few = -(-repeats // 10)
    setting = CertificateSetting(no_leak(), (0.0, 1e-5), NO_LEAK_SIZES, repeats, few)
    return CertificatePlan("no leak", (setting,), confidences=(0.95, 0.99), numbers=min(few, 20))


def calibrate(
    *,
    full: bool = False,
    published: bool = False,
    bounds: Sequence[str] = (),
    repeats: int | None = None,
    peers: bool = False,
    seed: int = 0,
    out: Path | str | None = None,
    n_jobs: int = 1,
    progress: bool = False,
) -> CalibrationRun:
    """Measure coverage and power of the bounds, and write the certificate.

    Finished simulations are kept in `out`: the same call continues from there, with the same numbers.

    Args:
        full: all sizes and 2,000 audits a setting, which takes hours of processor time; else the quick plan.
        published: whether to measure, on scores that leak nothing, the rules of published audits next to the bounds.
        bounds: names of the catalogue; empty for all bounds on pairs of scores.
        repeats: audits a setting; None for those of the plan.
        peers: whether to measure the estimators of jax-privacy on the same samples.
        seed: of all samples.
        out: directory of the files; None for runs/certificate.
        n_jobs: number of processes; does not affect the numbers.
        progress: whether to show a progress bar.

    Returns:
        The certificate and its files: certificate.csv, certificate.json, environment.json, figures/, report.html.

    Raises:
        UnknownNameError: no such bound.
        ParameterError: a number out of range, a bound without a law, or peers that are not installed.
        FingerprintError, StoreError: the directory has another certificate, or one of other code; or it cannot be
            written.
    """
    task = Calibration(full=full, published=published, bound=tuple(bounds), repeats=repeats, peers=peers, seed=seed)
    options, directory = RunOptions(n_jobs, progress=progress), OUT if out is None else Path(out)
    with _written(directory):
        store = Folder(directory).make(TRIALS)
    certificate = task.answer(task.run(replace(options, store=store)))
    return write_calibration(certificate, directory, command=task.command_line)


@contextmanager
def _written(directory: Path) -> Iterator[None]:
    """Convert errors of the operating system to a `StoreError` with the next step."""
    try:
        yield
    except StoreError:
        raise
    except OSError as error:
        raise StoreError(f"the certificate cannot be written to {directory}: {error}. Choose another --out.") from error


def write_calibration(certificate: Certificate, directory: Path, *, command: str) -> CalibrationRun:
    """Write the numbers, then the figures and the report."""
    from ..present.pages import write
    from ..present.plots.certificate import draw_certificate

    known = environment()
    with _written(directory):
        folder = Folder(directory)
        folder.make()
        texts = {
            "certificate.csv": certificate_csv(certificate),
            "certificate.json": certificate.to_json(),
            "environment.json": json.dumps(known, indent=1) + "\n",
        }
        written = [folder.write(name, text.encode()) for name, text in texts.items()]
        figures = draw_certificate(certificate, folder.make("figures"))
        pages = write(certificate.text(), directory, _drawn(figures), title=TITLE, command=command)
    return CalibrationRun(certificate, directory, (*written, *figures, *pages))


def _drawn(files: Iterable[Path]) -> Drawn:
    """Return the figures of a certificate: miss rates, then means in two columns."""
    from ..present.pages import Drawn, load_figures, with_narrow
    from ..present.plots.style import NARROW

    figures = load_figures(files)
    wide = [name for name in figures if f"{name}-{NARROW}" in figures]
    misses, powers = ([name for name in wide if name.startswith(kind)] for kind in ("misses", "power"))
    return Drawn(with_narrow(figures, misses), with_narrow(figures, powers))


def certificate_csv(certificate: Certificate) -> str:
    """Return the CSV text with one row per cell."""
    text = io.StringIO()
    extra = ["significance", "miss_rate", "interval_low", "interval_high", "holds"]
    writer: csv.DictWriter[str] | None = None
    for cell in certificate.cells:
        low, high = cell.interval
        row = asdict(cell) | dict(zip(extra, (cell.significance, cell.miss_rate, low, high, cell.holds), strict=True))
        if writer is None:
            writer = csv.DictWriter(text, list(row), lineterminator="\n")
            writer.writeheader()
        writer.writerow({name: csv_cell(value) for name, value in row.items()})
    return text.getvalue()


def _settings(
    sizes: tuple[int, ...], repeats: int, *, few: int, unequal: bool = False, slowest: int = 60
) -> list[CertificateSetting]:
    """Return the settings of every law at these sizes; with `unequal`, of two laws at very unequal sizes too.

    Slow methods run in `few` audits, and in at most `slowest` for laws that need a privacy-loss distribution.
    """
    settings = []
    for law, deltas in laws():
        both = tuple((n, n) for n in sizes)
        if unequal and law.name.startswith(("laplace ratio", "randomized response,")):
            both += UNEQUAL
        n_slow = min(few, slowest) if law.name.startswith("subsampled") else few
        settings.append(CertificateSetting(law, deltas, both, repeats, n_slow))
    return settings


__all__ = [
    "Calibration",
    "CalibrationRun",
    "calibrate",
    "certificate_csv",
    "full_plan",
    "laws",
    "quick_plan",
    "write_calibration",
]
