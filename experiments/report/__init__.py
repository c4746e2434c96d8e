"""Results for people: one self-contained HTML page, and Markdown for the summary of a CI job."""

from .membership import write_membership
from .pages import write

__all__ = ["write", "write_membership"]
