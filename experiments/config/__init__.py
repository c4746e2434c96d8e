"""Configurations: one TOML file describes one experiment; errors show file, line and key.

command_table.py     Tables with the options of a command: [judge], [text], [risk], [ask] and [calibrate], each a whole
                     configuration
config_errors.py     Locations of errors in a configuration: the line and key, or the setting, that causes an error
exclusions.py        Tables and keys of a configuration that exclude each other
overrides.py         Settings on top of a configuration: `--set mechanism.epsilon=2`, and the points of a sweep
schema.py            The schema of a configuration
sections.py          The tables of a configuration with fixed keys, one class each; `schema.py` combines them
source.py            The source of a configuration, which locates errors by file, line and key
sweep.py             The points of a sweep: their settings, their seeds, and the folders of their trials; checks of its
                     named cases
tasks/               Tasks of an experiment: audits, or a membership study, built and checked before the first run
toml_lines.py        Line numbers of the keys in a TOML text, which `tomllib` does not report
toml_text.py         Plain values as TOML text, with keys in their order. `tomllib` reads it, and `toml_lines` locates
                     its keys
trained_shadows.py   [data] shadows: shadow models that other code trained, in a file, for the attacks of [membership]
"""

from .schema import Config as Config
from .source import Source as Source, shipped as shipped
