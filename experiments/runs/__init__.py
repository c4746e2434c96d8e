"""Runs of experiments: from a configuration to a directory with results, figures and reports.

calibration.py   `dpassay calibrate`: coverage and power of all bounds
directory.py     the run directory of an experiment: its owner, and its files
limits.py        limits on the resources of a configuration: memory, time
record.py        environment.json: versions, times and file digests of a run
runner.py        run of a configuration, or of judged scores, in a run directory
"""

from .calibration import CalibrationRun as CalibrationRun, calibrate as calibrate
from .runner import ConfigRun as ConfigRun, report as report, run as run
