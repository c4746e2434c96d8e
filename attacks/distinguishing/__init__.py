"""Attacks on the distinguishing game: was this output released from `d0` or from `d1`?

canary_attacks.py     Attacks on trained models that know the records in which the sides differ
classifier.py         The classifier attack: learns from pilot outputs only, for mechanisms known only by samples
cross_fit.py          The choice between scores on the pilot: by their held-out log loss, and by cross-fitted lower
                      limits of their events
events.py             Exceptional outputs are scored, never dropped: an event that happens more often on one side is
                      itself a leak
gradient_product.py   The gradient-product attack: each training step, compared with the canary's gradient at that step
likelihood_ratio.py   The likelihood-ratio attack: the best possible attack if the output law is known, or assumed by
                      the auditor
low_level/            Leaks that classifiers miss: the format of an output, repeated values, and the order of
                      coordinates
portfolio.py          The portfolio: the classifier, rules for leaks that it does not detect, and simple scores that
                      need less learning
simple_rules.py       Events of learned scores in terms of the output: a rule on one number, or the few parts that the
                      event depends on
simple_scores.py      Scores that need little or no learning: log ratios of noise that is shifted, and statistics of the
                      output
threshold.py          The threshold attack: one number computed from the output, and its direction
"""

from typing import TYPE_CHECKING

from ...mechanisms.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from .canary_attacks import CanaryDirection as CanaryDirection, CanaryLoss as CanaryLoss
    from .classifier import Classifier as Classifier
    from .gradient_product import GradientProduct as GradientProduct
    from .likelihood_ratio import AssumedLaw as AssumedLaw, LikelihoodRatio as LikelihoodRatio
    from .portfolio import Portfolio as Portfolio
    from .threshold import Threshold as Threshold
else:
    __getattr__, __dir__ = lazy_names(__name__)
