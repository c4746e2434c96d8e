"""Files of a certificate: certificate.csv, certificate.json, environment.json, figures, and the page."""

from __future__ import annotations

import json
from pathlib import Path

from ...audit.calibration.certificate import Certificate
from ..data.table_files import csv_text
from ..present.results.provenance import environment
from .directory import RunDirectory

TITLE = "Coverage of the lower bounds"
"""Title of the page."""


def write_certificate(certificate: Certificate, directory: RunDirectory, command: str) -> list[Path]:
    """Write the numbers, then the figures and the page; return all but the numbers.

    Args:
        certificate, directory: of the run.
        command: reproduces the numbers.
    """
    from ..present.pages import Drawn, load_figures, with_narrow, write
    from ..present.plots.certificate import draw_certificate
    from ..present.plots.style import NARROW

    known = environment()
    directory.write("certificate.csv", csv_text(certificate.to_frame(), missing="nan"))
    directory.write("certificate.json", certificate.to_json())
    directory.write("environment.json", json.dumps(known, indent=1) + "\n")
    with directory.disk():
        files = draw_certificate(certificate, directory.figures())
        figures = load_figures(files)
        wide = [name for name in figures if f"{name}-{NARROW}" in figures]
        misses, powers = ([name for name in wide if name.startswith(kind)] for kind in ("misses", "power"))
        drawn = Drawn(with_narrow(figures, misses), with_narrow(figures, powers))
        return [*files, *write(certificate.text(), directory.path, drawn, title=TITLE, command=command)]
