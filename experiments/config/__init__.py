"""Configurations: one TOML file, one experiment; what is wrong in it is shown with its line."""

from experiments.config.schema import Config
from experiments.config.source import Source, shipped

__all__ = ["Config", "Source", "shipped"]
