"""Configurations: one TOML file describes one experiment; errors show file, line and key.

config_errors.py   locations of errors in a configuration: the line and key, or the setting, that causes an error
overrides.py       settings on top of a configuration: `--set mechanism.epsilon=2`, and the points of a sweep
schema.py          the schema of a configuration: its tables, and its checks
sections.py        the tables of a configuration with fixed keys
source.py          the source of a configuration, which locates errors by file, line and key
sweep.py           the points of a sweep: settings, seeds, folders; checks of its named cases
tasks/             tasks of an experiment: audits, or a membership study, built and checked before the first run
toml_lines.py      line numbers of the keys in a TOML text
toml_text.py       plain values as TOML text
"""

from .schema import Config as Config
from .source import Source as Source, shipped as shipped
