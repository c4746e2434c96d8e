"""Gain of attacks on people's data over baselines, and membership metrics; none of them bounds epsilon.

gain.py           gain(), attribute_gain(): success rates, paired gains over each baseline, residual risk -> Gain
disclosure.py     disclosure(): singling out, linkability, attribute inference -> Disclosed; most_gained()
residual_risk.py  residual_risk(): the published definition, with Wilson intervals that have no coverage here
membership/       evaluate(): AUC and rates of membership attacks, over all records and for each -> MembershipResult
"""

from .disclosure import Disclosed as Disclosed, disclosure as disclosure, most_gained as most_gained
from .gain import Gain as Gain, Over as Over, Rate as Rate, attribute_gain as attribute_gain, gain as gain
from .residual_risk import ResidualRisk as ResidualRisk, residual_risk as residual_risk
