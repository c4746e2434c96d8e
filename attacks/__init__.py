"""Who attacks: outputs -> scores. Higher score = side 1 = "the record was in".

base.py           Target, Attack and Scorer: read this first
catalogue.py      all attacks on a pair by name
canaries/         records that are made, or chosen, to be found
distinguishing/   tell the runs on a pair apart
membership/       was this record in the training set?
reconstruction/   guess a secret that was drawn from a known prior
attribute_inference/ Inference about people: an attribute that is not known of them, a label, what the examples of a cl
learners/            Models that attacks learn from pilot trials. Those of two classes give log odds: log p1(x) - log p
"""

from .base import Attack as Attack, Scorer as Scorer, Target as Target
