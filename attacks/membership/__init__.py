"""Membership inference: was this record in the training set? Higher score = it was.

base.py                MembershipAttack: read this first
shadows.py             Shadows, the matrix that every attack reads; `dpassay.audit.games.train_shadows` makes it
queries.py             a batch of shadow models: trained, and asked about records
signals.py             loss, confidence, entropies, margin, rescaled logit
target/                what looks at the target model alone: LOSS, entropies, gradients, population, exposure
shadow/                what compares with models trained with or without the record: LiRA, RMIA, BASE, Attack-R
catalogue.py           all of them by name

What a score is worth, and when it says something about epsilon: `dpassay.audit.membership`.
"""

from .base import MembershipAttack
from .shadows import Shadows, draw_inclusion

__all__ = ["MembershipAttack", "Shadows", "draw_inclusion"]
