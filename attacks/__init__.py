"""Who attacks: outputs -> scores. Higher score = side 1 = "the record was in".

base.py            Target, Attack and Scorer: read this first
distinguishing/    tell the runs on a pair apart
events.py          exceptional outputs (exceptions, NaN, text) as scores
catalogue.py       all of them by name
"""

from .base import Attack, Scorer, Target

__all__ = ["Attack", "Scorer", "Target"]
