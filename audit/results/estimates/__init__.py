"""Estimates of epsilon without coverage: for plots and comparison, never for a verdict.

base.py       Estimate: read this first
posterior.py  bayesian: joint posterior of the two error rates
katz.py       katz_log: normal interval for the logarithm of a ratio
bootstrap.py  plug_in: observed rates, resampled
"""

from .base import Estimate as Estimate
from .bootstrap import plug_in as plug_in
from .katz import katz_log as katz_log
from .posterior import bayesian as bayesian
