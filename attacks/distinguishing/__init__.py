"""Attacks on the distinguishing game: was this output released from `d0` or from `d1`?

likelihood_ratio.py   the optimal test, where the output law is known
classifier.py         learned from pilot outputs alone
threshold.py          one number of the output, compared with a threshold
"""

from attacks.distinguishing.classifier import Classifier
from attacks.distinguishing.likelihood_ratio import LikelihoodRatio
from attacks.distinguishing.threshold import Threshold

__all__ = ["Classifier", "LikelihoodRatio", "Threshold"]
