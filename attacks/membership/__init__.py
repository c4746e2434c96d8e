"""Membership inference: was this record in the training set? Higher score = it was.

base.py                MembershipAttack: read this first
shadows.py             Shadows, the matrix that every attack reads; `dpassay.audit.membership.train_shadows` makes it
queries.py             a batch of shadow models: trained, and asked about records
signals.py             loss, confidence, entropies, margin, rescaled logit
leave_one_out.py       statistics over the other models, for all targets at once
threshold.py           LOSS, correctness gap
entropy.py             entropy and modified entropy with class thresholds
shadow_classifier.py   an attack classifier that was trained on other models
calibration.py         signal less that of models without the record
lira.py                likelihood ratio of two normal laws: online, offline-tail, offline-density
population.py          Attack-P: against other records
reference.py           Attack-R: against other models
rmia.py                against other records and other models
base_mia.py            BASE
quantile.py            quantile regression on records like this one
gradients.py           white box: gradient norm, inner products with the steps of training
exposure.py            rank among candidates, in bits
catalogue.py           all of them by name

What a score is worth, and when it may speak about epsilon: `dpassay.audit.membership`.
"""

from .base import MembershipAttack
from .shadows import Shadows, draw_inclusion

__all__ = ["MembershipAttack", "Shadows", "draw_inclusion"]
