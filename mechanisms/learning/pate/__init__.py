"""Teachers that vote: models of disjoint parts of the data, whose noisy vote is released.

teachers.py        Teachers: nearest records, kernels, scikit-learn
students.py        LabelSpreading: what a student makes of public points without an answer
pate.py            PATE: private records in, a student out
aggregator.py        Base class of the aggregators, which answer each query by a label computed from a table of votes
confident.py         GNMax after a noisy check that enough teachers agree
data_dependent.py    Data-dependent epsilon of the answers to a table of votes
disjoint_parts.py    Base class of sample-and-aggregate and PATE: models of disjoint parts of the records, whose votes
noisy_max.py         Label with the most noisy votes: Laplace noise (LNMax) and Gaussian noise (GNMax)
private_epsilon.py   Data-dependent epsilon of answers, published with noise in proportion to its smooth sensitivity
renyi.py             Renyi divergences of one answer on fixed votes, from an upper bound q on the probability that the
repeated_queries.py  Exact curve of one query that is asked many times, possibly until a limit on the number of answers
smooth_sensitivity.py Smooth sensitivity of a data-dependent bound to a change of the votes of one teacher
vote_counts.py       Tables of votes: counting and checks
winners.py           Probability that each label has the most noisy votes
"""

from .confident import ConfidentGNMax as ConfidentGNMax, InteractiveGNMax as InteractiveGNMax
from .data_dependent import DataDependent as DataDependent, data_dependent as data_dependent
from .disjoint_parts import (
    SampleAndAggregate as SampleAndAggregate,
    TeacherVotes as TeacherVotes,
    VotesOfParts as VotesOfParts,
)
from .noisy_max import GNMax as GNMax, LNMax as LNMax
from .pate import PATE as PATE
from .private_epsilon import PrivateEpsilon as PrivateEpsilon
from .students import LabelSpreading as LabelSpreading
from .teachers import (
    EstimatorTeachers as EstimatorTeachers,
    KernelTeachers as KernelTeachers,
    NearestTeachers as NearestTeachers,
    Teachers as Teachers,
)
from .vote_counts import count_votes as count_votes
