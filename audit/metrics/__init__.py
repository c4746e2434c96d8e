"""What an attack on the data of people gains over what is guessed anyway. Metrics: no bound on epsilon is in here.

    gain                attack and baselines on the same people -> Gain
    attribute_gain      ... of an attribute inference attack, whose baselines it makes
    disclosure          ... of singling out, linkability or attribute inference from synthetic tables -> Disclosed
    most_gained         the largest gain that (epsilon, delta) allows
    residual_risk       the risks as others publish them -> ResidualRisk, an estimate

gain.py       gain() and Gain: success rates, paired gains over each baseline, residual risk
attributes.py  attribute_gain()
disclosure.py  disclosure() and Disclosed: everybody, and the worst group; most_gained()
residual_risk.py  residual_risk(): Wilson intervals, which have no coverage here
text.py       the same in plain words
membership/          How much membership attacks find out, and when that says something about epsilon
"""

from .attributes import attribute_gain as attribute_gain
from .disclosure import Disclosed as Disclosed, disclosure as disclosure, most_gained as most_gained
from .gain import Gain as Gain, Over as Over, Rate as Rate, gain as gain
from .residual_risk import ResidualRisk as ResidualRisk, residual_risk as residual_risk
