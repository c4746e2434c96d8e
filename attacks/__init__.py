"""Who attacks: outputs -> scores. Higher score = side 1 = "the record was in".

base.py                Target, Attack and Scorer: read this first
catalogue.py           all attacks on a pair by name
canaries/              records that are made, or chosen, to be detected
distinguishing/        on which of two datasets was the mechanism run?
membership/            was this record in the training set, the table, the study?
attribute_inference/   an unknown attribute of a person, from models, tables and registers
reconstruction/        which secret, drawn from a known prior, is in the dataset?
learners/              models that attacks learn from pilot trials
"""

from .base import Attack as Attack, Scorer as Scorer, Target as Target
