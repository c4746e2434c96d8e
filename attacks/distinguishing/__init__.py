"""Attacks on the distinguishing game: was this output released from `d0` or from `d1`?

likelihood_ratio.py   the optimal test, where the output law is known
assumed_law.py        the same for a function, with the law that the auditor names; given as an object, not by name
classifier.py         learned from pilot outputs alone
portfolio.py          the classifier, and rules for exact values, decimals, low bits, order
threshold.py          one number of the output, compared with a threshold
targeted.py           what the attacks on trained models share
canary_loss.py        black box: the loss of the final model on the canary
canary_direction.py   hidden state: how far the last iterate went along the gradient of the canary
gradient_product.py   all iterates: each step, compared with the gradient of the canary
noisy_steps.py        the noisy sums that iterates give away, and what one of them says about a gradient
events.py            Exceptional outputs are scored, never dropped: an event that happens more often on one side is its
low_level/           What classifiers miss: how an output is written, whether it came before, and how its coordinates s
"""

from .canary_attacks import CanaryDirection as CanaryDirection, CanaryLoss as CanaryLoss
from .classifier import Classifier as Classifier
from .gradient_product import GradientProduct as GradientProduct
from .likelihood_ratio import AssumedLaw as AssumedLaw, LikelihoodRatio as LikelihoodRatio
from .portfolio import Portfolio as Portfolio
from .threshold import Threshold as Threshold
