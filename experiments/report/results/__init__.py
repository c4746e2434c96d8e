"""Results of an experiment: numbers, findings in words, and provenance.

formatting.py   text of numbers and parameters, in figures and reports
provenance.py   what a result depended on in addition to its configuration (versions, commit, machine), and durations
sentences.py    what a result says, in sentences
sweep.py        the result of an experiment: its audits, and one verdict that is corrected over all of them
"""

from .provenance import environment as environment
from .sweep import SweepPoint as SweepPoint, SweepResult as SweepResult, corrected as corrected
