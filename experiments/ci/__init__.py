"""Results in a build: tested claims, what became of them since a baseline, and what fails.

checked.py      Tested claims of a result, in the one form that comparisons and build servers read
comparison.py   The comparison of two results: which claims are newly refuted, and which audits have lost power
findings.py     Findings of an audit or a sweep for build servers, with what became of each claim since a baseline
saved_runs.py   Saved results of runs, checks and sessions of pytest, read for a comparison
text.py         The texts of the checks of a session, and of a comparison
"""

from .checked import claims_of as claims_of
from .comparison import compare as compare
