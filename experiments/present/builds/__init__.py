"""Results for build servers: each form renders the text of the result, without values of datasets and outputs.

badge.py          A badge with the verdict of a saved result, as an SVG of two cells
findings.py       Findings of a command for build servers: each tested claim with its text, and its place in the sources
junit.py          JUnit XML, which GitLab, Jenkins and others show as a list of tests: one test case for each tested
                  claim
sarif.py          SARIF 2.1.0 (OASIS 2020), which code scanning of GitHub and others shows in the sources
step_summary.py   A result as a section of Markdown, and the summary of a GitHub step, which GitHub shows below the job
"""
