"""Membership inference: was this record in the training set? Higher score = it was.

base.py                MembershipAttack: read this first
catalogue.py           all membership attacks by name
shadows.py             Shadows, the matrix that every attack reads; `dpassay.audit.games.train_shadows` makes it
queries.py             a batch of shadow models: training, and signals on records
signals.py             loss, confidence, entropies, margin, rescaled logit
thresholds.py          a threshold on a signal: loss, correctness, entropy
comparisons.py         comparisons with other records or other models: attack P, attack R, calibration, exposure
likelihood_ratios.py   LiRA, BASE and RMIA
learned.py             a classifier of the predictions of shadow models, and quantile regression
gradients.py           white box: the norm of the gradient, and its inner product with the steps
synthetic_data/        was this record in the data that a synthetic table was made from?
tracing/               was this person in the study with these published means?

For the metrics, and their relation to epsilon: `dpassay.audit.metrics.membership`.
"""

from .base import MembershipAttack as MembershipAttack
from .shadows import Shadows as Shadows, draw_inclusion as draw_inclusion
