"""The command line.

check.py        `dpassay check`: the claim of a function, a mechanism or a program, tested on one pair of datasets
commands.py     commands with their exit codes
judge.py        `dpassay judge`: test of a claim with scores in a file
listing.py      `dpassay list`: names with one-line summaries
options.py      options of the commands, with their help texts
streams.py      standard streams that tolerate write errors
supervisor.py   child process for audited code, so that the parent reports its end; signals as exceptions
terminal.py     terminal output: tables in a terminal, plain text elsewhere
"""

from .commands import app as app, run_app as run_app
