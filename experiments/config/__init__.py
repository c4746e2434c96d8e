"""Configurations: one TOML file, one experiment; what is wrong in it is shown with its line.

cases.py           named cases of a sweep: what each may hold
config_errors.py   where an error in a configuration is shown: the line and key, or the setting, that is to blame
games.py           names of the games that [game] may name, each with its task
overrides.py       settings on top of a configuration: `--set mechanism.epsilon=2`, and the points of a sweep
schema.py          the schema of a configuration: what a question is made of
sections.py        the tables of a configuration whose keys are known beforehand
source.py          where a configuration came from, so that every error in it points at the file
sweep.py           the points of a sweep: what each sets, the seed it gets, and the folder that holds its trials
toml_lines.py      where a key stands in a TOML text
toml_text.py       plain values as TOML text
tasks/               What an experiment runs: its audits or its membership study, built and checked before anything run
"""

from .schema import Config as Config
from .source import Source as Source, shipped as shipped
