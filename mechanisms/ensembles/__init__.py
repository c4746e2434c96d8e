"""Teachers that vote: models of disjoint parts of the data, whose noisy vote is released.

votes.py           NoisyVotes: what noisy votes on one label of two share
teacher_votes.py   TeacherVotes: nearest-neighbour teachers, one a part
parts.py           VotesOfParts: from records to votes, through models of disjoint parts
sample_and_aggregate.py  SampleAndAggregate: the vote of a statistic of every part
teachers.py        Teachers: nearest records, kernels, scikit-learn
students.py        LabelSpreading: what a student makes of public points without an answer
pate.py            PATE: private records in, a student out
aggregators/       LNMax, GNMax, Confident-GNMax, Interactive-GNMax: from tables of votes to labels
analysis/          what answers cost on the very votes that were cast, and how that number can be published
"""

from .aggregators import ConfidentGNMax, GNMax, InteractiveGNMax, LNMax, count_votes
from .analysis.data_dependent import DataDependent, data_dependent
from .analysis.private_epsilon import PrivateEpsilon
from .pate import PATE
from .sample_and_aggregate import SampleAndAggregate
from .students import LabelSpreading
from .teacher_votes import TeacherVotes
from .teachers import EstimatorTeachers, KernelTeachers, NearestTeachers, Teachers
from .votes import NoisyVotes

__all__ = [
    "PATE",
    "ConfidentGNMax",
    "DataDependent",
    "EstimatorTeachers",
    "GNMax",
    "InteractiveGNMax",
    "KernelTeachers",
    "LNMax",
    "LabelSpreading",
    "NearestTeachers",
    "NoisyVotes",
    "PrivateEpsilon",
    "SampleAndAggregate",
    "TeacherVotes",
    "Teachers",
    "count_votes",
    "data_dependent",
]
