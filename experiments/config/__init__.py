"""Configurations: one TOML file, one experiment; what is wrong in it is shown with its line."""

from .schema import Config
from .source import Source, shipped

__all__ = ["Config", "Source", "shipped"]
