"""The command line.

check.py        `dpassay check`: the claim of a function, a mechanism or a program, tested on one pair of datasets
commands.py     the command line: parse, call, exit code
judge.py        `dpassay judge`: a claim against scores that lie in a file
listing.py      what `dpassay list` shows: names and a line on each
options.py      options that several commands share
signals.py      Ctrl-C, SIGTERM and SIGHUP as exceptions, so that what was begun is left in order
streams.py      standard streams that may be closed, full, or read by nobody
supervisor.py   a child process for audited code: whatever ends it, the parent says so, and with which exit code
terminal.py     what the command line prints: tables that fit a terminal, and plain text elsewhere
"""

from .commands import app as app, run_app as run_app
