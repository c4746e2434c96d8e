"""Estimates of epsilon without coverage: for plots and comparison, never for a verdict.

base.py           Estimates of epsilon: numbers without coverage, which may exceed the true epsilon more often than
                  their level says
bootstrap.py      The plug-in estimate from observed rates, with a bootstrap interval
gaussian_fit.py   The epsilon of an attack at any delta, if its trade-off curve is that of a Gaussian pair: estimated by
                  ranks
katz.py           The normal interval for the logarithm of a ratio of rates (Katz et al. 1978; for privacy Lu et al.
                  2022)
posterior.py      The Bayesian estimate: joint posterior of the two error rates of one event, mapped to epsilon
"""

from .base import Estimate as Estimate
from .bootstrap import plug_in as plug_in
from .katz import katz_log as katz_log
from .posterior import bayesian as bayesian
