"""Results of an experiment: numbers, findings in words, and provenance.

formatting.py   text of numbers and parameters, for figures and reports
provenance.py   versions, commit and machine of a result, and durations of its audits
sentences.py    the interpretation of results, in sentences
sweep.py        the result of an experiment: its audits, and a verdict that is corrected for their number
"""

from .provenance import environment as environment
from .sweep import SweepPoint as SweepPoint, SweepResult as SweepResult, corrected as corrected
