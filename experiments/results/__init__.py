"""What an experiment found: the result of a sweep, its numbers and findings in words, and what it was computed with."""

from .provenance import environment
from .sweep import SweepPoint, SweepResult, corrected

__all__ = ["SweepPoint", "SweepResult", "corrected", "environment"]
