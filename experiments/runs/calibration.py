"""`dpassay calibrate`: coverage and power of all bounds.

plan (laws x sizes) -> certify -> certificate.csv, certificate.json, figures, report.html
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

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
from ...mechanisms.core import ParameterError, StoreError, csv_cell, listed
from ..report.results.provenance import environment

if TYPE_CHECKING:
    from ..report.pages import Drawn

OUT = Path("runs") / "certificate"
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
        The certificate and its files: certificate.csv, certificate.json, environment.json, figures/, report.html and report.md.

    Raises:
        UnknownNameError: no such bound.
        ParameterError: a number out of range, a bound without a law, or peers that are not installed.
        StoreError: the directory cannot be written.
    """
    if full and published:
        raise ParameterError("full and published are two plans: give one of them.", argument=("full", "published"))
    RunOptions(n_jobs)
    plan_of = _no_leak_plan if published else full_plan if full else quick_plan
    plan = plan_of() if repeats is None else plan_of(repeats)
    if without_law := [name for name in bounds if not catalogue_methods((name,))]:
        raise ParameterError(
            f"bound {listed(without_law)} reads no scores of pairs or bits, so there is no law for it. Leave it out.",
            argument="bound",
        )
    ours = catalogue_methods(tuple(dict.fromkeys(bounds)) or (BESIDE_PUBLISHED if published else ()))
    methods: list[Method] = [*ours, *uncorrected(), *(published_rules() if published else [])]
    if peers:
        from ...audit.calibration.peers import jax_privacy_methods

        methods += jax_privacy_methods()
    certificate = certify(plan, methods, seed=seed, n_jobs=n_jobs, progress=progress)
    command = _command(full=full, published=published, bounds=bounds, repeats=repeats, peers=peers, seed=seed)
    return write_calibration(certificate, OUT if out is None else Path(out), command=command)


def write_calibration(certificate: Certificate, directory: Path, *, command: str) -> CalibrationRun:
    """Write the numbers, then the figures and the report."""
    from ..report.pages import write
    from ..report.plots.certificate import draw_certificate

    versions = environment()
    try:
        folder = Folder(directory)
        folder.make()
        texts = {
            "certificate.csv": certificate_csv(certificate),
            "certificate.json": certificate.to_json(),
            "environment.json": json.dumps(versions, indent=1) + "\n",
        }
        written = [folder.write(name, text.encode()) for name, text in texts.items()]
        figures = draw_certificate(certificate, folder.make("figures"))
        pages = write(
            certificate.text(), directory, _drawn(figures), title="Coverage of the lower bounds", command=command
        )
    except StoreError:
        raise
    except OSError as error:
        raise StoreError(f"the certificate cannot be written to {directory}: {error}. Choose another --out.") from error
    return CalibrationRun(certificate, directory, (*written, *figures, *pages))


def _drawn(files: Iterable[Path]) -> Drawn:
    """Return the figures of a certificate: miss rates above the table, means below it."""
    from ..report.pages import Drawn, load_figures

    figures = load_figures(files)
    return Drawn(
        overviews=tuple((figure, None) for name, figure in figures.items() if name.startswith("misses")),
        figures=tuple(figure for name, figure in figures.items() if name.startswith("power")),
    )


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


def _command(*, full: bool, published: bool, bounds: Sequence[str], repeats: int | None, peers: bool, seed: int) -> str:
    """Return the command that reproduces the numbers."""
    parts = ["dpassay calibrate", *(["--full"] if full else []), *(["--published"] if published else [])]
    parts += [*(f"--bound {name}" for name in bounds)]
    parts += [f"--repeats {repeats}"] if repeats is not None else []
    parts += ["--peers"] if peers else []
    return " ".join([*parts, f"--seed {seed}"])


__all__ = ["CalibrationRun", "calibrate", "certificate_csv", "full_plan", "laws", "quick_plan", "write_calibration"]
