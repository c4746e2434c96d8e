"""Experiments that run: from a configuration to a directory with results, figures and reports."""

from .calibration import Calibration, calibrate
from .runner import Run, report, run

__all__ = ["Calibration", "Run", "calibrate", "report", "run"]
