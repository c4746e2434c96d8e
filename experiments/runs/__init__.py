"""Runs of experiments: from a configuration to a directory with results, figures and reports.

again.py          Reading finished runs again: `dpassay report` draws them, and `dpassay card` writes their evidence
calibration.py    Coverage and power of all bounds, measured on distributions with a known exact epsilon
certificate.py    Files of a certificate: certificate.csv, certificate.json, environment.json, figures, and the page
cluster.py        The workers of a Dask cluster for a run: `dpassay run CONFIG --cluster tcp://HOST:PORT`, or `local:N`
directory.py      The run directory of an experiment: its owner, and its files
evidence.py       Files that a finished run leaves for other readers: evidence card, fields of the registry, and LaTeX
                  table
kept.py           Running the task of a command in a directory: judged scores, texts, shadow models, synthetic tables, a
                  certificate
limits.py         Limits on the resources of a configuration: too little memory is an error, a long step is announced
python_sweep.py   `sweep`: audits of one's own mechanism over a grid of parameters, from Python, with the files of a run
record.py         environment.json: versions, times and file digests of a run, and the check that a finished run is
                  still valid
runner.py         Running a configuration in a run directory
slices.py         Slices of an experiment, run by jobs that do not see each other, and their merge into one run
verification.py   Verification of a finished run that someone else has made: `dpassay card RUN --verify`
writing.py        Writing the files of a result: numbers, evidence card, figures and reports
"""

from .again import report as report
from .kept import keep as keep
from .runner import run as run
from .verification import verify as verify
from .writing import ConfigRun as ConfigRun
