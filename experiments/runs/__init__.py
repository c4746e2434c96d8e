"""Experiments that run: from a configuration to a directory with results, figures and reports.

calibration.py   `dpassay calibrate`: do the bounds keep their word, and how close do they come?
directory.py     the folder that an experiment is run in: who may use it, and how files get there
limits.py        what a configuration asks for beyond what there is: memory, time
record.py        environment.json: what a run was computed with and when, and what it left
runner.py        from a configuration, or from judged scores, to a run directory
"""

from .calibration import CalibrationRun as CalibrationRun, calibrate as calibrate
from .runner import ConfigRun as ConfigRun, report as report, run as run
