"""Who attacks: outputs -> scores. Higher score = side 1 = "the record was in".

base.py           Target, Attack and Scorer: read this first
catalogue.py      all attacks on a pair by name
canaries/         records that are made, or chosen, to be found
distinguishing/   tell the runs on a pair apart
events.py         exceptional outputs (exceptions, NaN, text) as scores
extraction/       training text out of language models: what they write, and how far up a planted canary stands
features.py       from outputs to columns of numbers that a classifier can read
fine/             how an output is written, whether it came before, and how its coordinates stand to each other
inference/        an attribute, a label, the look of a class: what is inferred about people
linkage/          names for records that have none: linkage with what others know
membership/       was this record in the training set?
models/           two-class models that attacks learn from pilot trials
reconstruction/   guess a secret that was drawn from a known prior
synthesis/        was this record in the data that a synthetic table was made from?
tracing/          was this person in the study whose means were published?
"""

from .base import Attack, Scorer, Target

__all__ = ["Attack", "Scorer", "Target"]
