"""Noisy answers from the votes of teachers: the label with the most votes, and whether there are enough of them.

base.py           Aggregator: votes in, one label a query out; read this first
votes.py          tables of votes: counted, and checked
winners.py        how likely each label is the one with the most noisy votes
repeats.py        the exact curve of one query that is asked many times
maxima.py         LNMax, GNMax: the label with the most noisy votes
checked.py        ConfidentGNMax, InteractiveGNMax: only where enough teachers agree
"""

from .base import ABSTAINED, Aggregator
from .checked import CheckedGNMax, ConfidentGNMax, InteractiveGNMax
from .maxima import GNMax, LNMax
from .votes import count_votes

__all__ = [
    "ABSTAINED",
    "Aggregator",
    "CheckedGNMax",
    "ConfidentGNMax",
    "GNMax",
    "InteractiveGNMax",
    "LNMax",
    "count_votes",
]
