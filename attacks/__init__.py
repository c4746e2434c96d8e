"""Attacks: outputs -> scores. A higher score means side 1: the record was in. Read `base.py` first.

base.py           The interfaces of this package: read this first
canaries/         Canaries: records that are made, or chosen, to be detected. They turn a dataset into a pair of
                  neighbours
catalogue.py      Names of the attacks. A new attack is one file and one line here; `dpassay list attacks` shows them
distinguishing/   Attacks on the distinguishing game: was this output released from `d0` or from `d1`?
function.py       The attack of a function: the scores that code of the user gives to outputs
learners/         Models that attacks learn from pilot trials: log odds of two sides, or probabilities of k candidates
literature/       Attacks of the literature: on answers, tables, training, texts, studies, records without names, and
                  attributes
membership/       Membership inference: was this record in the training set? Higher score = it was
people/           Attacks on people in a released table: what `dpassay risk` runs
reconstruction/   Reconstruction: what was in the dataset? A secret is drawn from a known prior, the mechanism runs, an
                  attack guesses
"""

from .base import Attack as Attack, Scorer as Scorer, Target as Target
from .function import FunctionAttack as FunctionAttack
