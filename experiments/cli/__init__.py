"""The command line."""

from .commands import app, run_app

__all__ = ["app", "run_app"]
