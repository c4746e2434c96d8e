"""Risks of one synthetic table: records that it was made of, compared with records that it was not made of."""

from .result import Comparison as Comparison, Exposed as Exposed, RiskResult as RiskResult
from .risk import risk as risk
