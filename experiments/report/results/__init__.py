"""What an experiment found: the result of a sweep, its numbers and findings in words, and what it was computed with.

formatting.py   numbers and parameters as people write them, in figures and in reports alike
provenance.py   what a result depended on besides its configuration: versions, commit, machine
sentences.py    what a result says, in sentences
sweep.py        the result of an experiment: its audits, and one verdict that is corrected over all of them
times.py        times.json: how long each audit of a run took
"""

from .provenance import environment as environment
from .sweep import SweepPoint as SweepPoint, SweepResult as SweepResult, corrected as corrected
