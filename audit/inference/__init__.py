"""What an attack on the data of people gains over what is guessed anyway. Metrics: no bound on epsilon is in here.

    gain                attack and baselines on the same people -> Gain
    attribute_gain      ... of an attribute inference attack, whose baselines it makes

gain.py       gain() and Gain: success rates, paired gains over each baseline, residual risk
attributes.py  attribute_gain()
text.py       the same in plain words
"""

from .attributes import attribute_gain
from .gain import Gain, Over, Rate, gain

__all__ = ["Gain", "Over", "Rate", "attribute_gain", "gain"]
