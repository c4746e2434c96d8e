"""Numbers without coverage: for plots and comparison, never for a verdict.

base.py        Estimate: read this first
posterior.py   bayesian: joint posterior of the two error rates
katz.py        katz_log: normal interval for the logarithm of a ratio
bootstrap.py   plug_in: observed rates, resampled
"""

from audit.estimates.base import Estimate
from audit.estimates.bootstrap import plug_in
from audit.estimates.katz import katz_log
from audit.estimates.posterior import bayesian

__all__ = ["Estimate", "bayesian", "katz_log", "plug_in"]
