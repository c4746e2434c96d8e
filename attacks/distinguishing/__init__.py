"""Attacks on the distinguishing game: was this output released from `d0` or from `d1`?

likelihood_ratio.py   the optimal test, where the output law is known or assumed
classifier.py         learned from pilot outputs only
portfolio.py          the classifier, and rules for exact values, decimals, low bits, order
threshold.py          one statistic of the output, compared with a threshold
canary_attacks.py     attacks on trained models: the loss of the canary, or the direction of its gradient
gradient_product.py   all iterates: each step, compared with the gradient of the canary
events.py             scores of exceptional outputs
low_level/            rules that classifiers miss: format, repetition, order of coordinates
"""

from .canary_attacks import CanaryDirection as CanaryDirection, CanaryLoss as CanaryLoss
from .classifier import Classifier as Classifier
from .gradient_product import GradientProduct as GradientProduct
from .likelihood_ratio import AssumedLaw as AssumedLaw, LikelihoodRatio as LikelihoodRatio
from .portfolio import Portfolio as Portfolio
from .threshold import Threshold as Threshold
