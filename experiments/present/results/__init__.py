"""Results of an experiment: numbers, findings in words, and provenance.

expectations.py   Comparison of a result with the numbers and verdicts that its config expects
latex.py          Tables of results as LaTeX: a `tabular` of booktabs, for a paper
parameters.py     Swept parameters and names as text
provenance.py     Provenance of a result in addition to its configuration: versions, commit, machine, and duration of
                  each audit
sweep.py          The result of an experiment: its audits, and a verdict that is corrected for their number
sweep_text.py     The text of an experiment: verdict over all audits, table of the audits, and the text of each audit
"""

from .provenance import environment as environment
from .sweep import SweepPoint as SweepPoint, SweepResult as SweepResult, corrected as corrected
