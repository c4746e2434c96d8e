"""Experiments that run: from a configuration to a directory with results, figures and reports."""

from experiments.runs.calibration import Calibration, calibrate
from experiments.runs.runner import Run, report, run

__all__ = ["Calibration", "Run", "calibrate", "report", "run"]
