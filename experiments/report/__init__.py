"""Results for people: one self-contained HTML page, and Markdown for the summary of a CI job."""

from experiments.report.membership import write_membership
from experiments.report.pages import write

__all__ = ["write", "write_membership"]
