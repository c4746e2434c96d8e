"""The command line.

check.py        `dpassay check`: the claim of a function, a mechanism or a program, tested on one pair of datasets
commands.py     the command line: parse, call, exit code
judge.py        `dpassay judge`: a claim against scores that lie in a file
listing.py      what `dpassay list` shows: names and a line on each
options.py      options that several commands share
streams.py      standard streams that may be closed, full, or without a reader
supervisor.py   a child process for audited code, whose end the parent reports; signals as exceptions
terminal.py     what the command line prints: tables that fit a terminal, and plain text elsewhere
"""

from .commands import app as app, run_app as run_app
