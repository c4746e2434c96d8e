"""Results of an experiment: numbers, findings in words, and provenance.

expectations.py   Comparison of a result with the numbers and verdicts that its config expects
formatting.py     Text of numbers and parameters, for figures and reports
latex.py          Tables of results as LaTeX: a `tabular` of booktabs, for a paper
provenance.py     Provenance of a result in addition to its configuration: versions, commit, machine, and duration of
                  each audit
sentences.py      The interpretation of results, in sentences
sweep.py          The result of an experiment: its audits, and a verdict that is corrected for their number
"""

from .provenance import environment as environment
from .sweep import SweepPoint as SweepPoint, SweepResult as SweepResult, corrected as corrected
