"""The command line."""

from experiments.cli.commands import app, run_app

__all__ = ["app", "run_app"]
