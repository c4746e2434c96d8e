"""The command line.

application.py       The application: registration of commands, and exit codes
assistants.py        Assistants on the command line: coins for canary documents, and questions to a program
audit_commands.py    Commands that run audits; each imports the rest when it is called
check.py             `dpassay check`: the claim of a function, a mechanism or a program, tested on one pair of datasets
commands.py          Entry point of the command line, and the commands that help
doctor.py            `dpassay doctor`: the installation, and a short audit with known verdicts
file_commands.py     Commands on files that other programs wrote; each imports the rest when it is called
listing.py           Entries of `dpassay list`: names with one-line summaries
options.py           Options of the commands, with their help texts
outcomes.py          Outcomes of the commands: the comparison with a baseline, and what each command writes for build
                     servers
outputs.py           Files that a command writes next to its output: Markdown, JSON, JUnit XML, SARIF, the summary of a
                     GitHub step
recorded.py          Findings of a recording, from a process of its own: a recording needs the audited code beside this
                     library
result_commands.py   Commands on saved results; each imports the rest when it is called
streams.py           Standard streams that tolerate write errors, so that these do not change the exit code by accident
supervisor.py        Child process for audited code, so that the parent reports its end and sets the exit code
table_coins.py       Coins for the units of a table: `dpassay coins TABLE --real FILE --holdout FILE`
terminal.py          Terminal output of the command line: tables in a terminal, plain text elsewhere
"""

from .application import app as app
from .commands import run_app as run_app
