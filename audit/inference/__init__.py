"""What an attack on the data of people gains over what is guessed anyway. Metrics: no bound on epsilon is in here.

    gain                attack and baselines on the same people -> Gain

gain.py       gain() and Gain: success rates, paired gains over each baseline, residual risk
text.py       the same in plain words
"""

from .gain import Gain, Over, Rate, gain

__all__ = ["Gain", "Over", "Rate", "gain"]
