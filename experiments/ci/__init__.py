"""Results in a build: tested claims, what became of them since a baseline, and what fails.

checked.py        Tested claims of a result, in the one form that comparisons and build servers read
comparison.py     The comparison of two results: which claims are newly refuted, and which audits have lost power
findings.py       Findings of an audit or a sweep for build servers, with what became of each claim since a baseline
history.py        A history of builds: a file of JSON lines to which each build adds its evidence against the same claim
history_text.py   The text of a history of builds: what the evidence of all builds says, and a table of the builds
pools.py          Pools of builds: when the e-values of many builds together refute a claim
saved_runs.py     Saved results of runs, checks and sessions of pytest, read for a comparison
text.py           The texts of the checks of a session, and of a comparison
"""

from .checked import claims_of as claims_of
from .comparison import compare as compare
