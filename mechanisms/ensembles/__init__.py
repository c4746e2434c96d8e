"""Teachers that vote: models of disjoint parts of the data, whose noisy vote is released.

votes.py           NoisyVotes: what noisy votes on one label of two share
teacher_votes.py   TeacherVotes: nearest-neighbour teachers, one a part
aggregators/       LNMax, GNMax, Confident-GNMax, Interactive-GNMax: from tables of votes to labels
analysis/          what answers cost on the very votes that were cast, and how that number can be published
"""

from .aggregators import ConfidentGNMax, GNMax, InteractiveGNMax, LNMax, count_votes
from .analysis.data_dependent import DataDependent, data_dependent
from .analysis.private_epsilon import PrivateEpsilon
from .teacher_votes import TeacherVotes
from .votes import NoisyVotes

__all__ = [
    "ConfidentGNMax",
    "DataDependent",
    "GNMax",
    "InteractiveGNMax",
    "LNMax",
    "NoisyVotes",
    "PrivateEpsilon",
    "TeacherVotes",
    "count_votes",
    "data_dependent",
]
