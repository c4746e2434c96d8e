"""Results in a build: two runs compared, and the formats that build servers read.

badge.py          A badge with the verdict of a saved result, as an SVG of two cells
checked.py        Tested claims of a result, in the one form that comparisons and build servers read
comparison.py     The comparison of two results: which claims are newly refuted, and which audits have lost power
findings.py       Findings of a command for build servers: each tested claim with its text, and its place in the sources
junit.py          JUnit XML, which GitLab, Jenkins and others show as a list of tests: one test case for each tested
                  claim
sarif.py          SARIF 2.1.0 (OASIS 2020), which code scanning of GitHub and others shows in the sources
saved_runs.py     Saved results of runs, checks and sessions of pytest, read for a comparison
step_summary.py   Markdown of outcomes and comparisons, and the summary of a GitHub step, which GitHub shows below the
                  job
"""

from .checked import claims_of as claims_of
from .comparison import compare as compare
