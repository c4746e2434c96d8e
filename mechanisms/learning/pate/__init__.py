"""Teachers that vote: models of disjoint parts of the records, whose noisy votes label public queries.

Data walks from records to votes (disjoint_parts.py, pate.py), and from votes to labels (aggregator.py).

disjoint_parts.py      SampleAndAggregate and TeacherVotes: one vote for each part of the records
pate.py                PATE: teachers of disjoint parts, and a student that learns from their labels
teachers.py            Teachers: nearest records, kernels, classifiers of scikit-learn
students.py            LabelSpreading: labels of public points without an answer
vote_counts.py         tables of votes: counting and checks
aggregator.py          base class of the aggregators, which answer each query by a label computed from a table of votes
noisy_max.py           LNMax and GNMax: the label with the most noisy votes
confident.py           Confident-GNMax and Interactive-GNMax: GNMax after a noisy check that enough teachers agree
winners.py             probability that each label wins
repeated_queries.py    exact curve of one query that is asked many times
renyi.py               Renyi divergences of one answer on fixed votes
smooth_sensitivity.py  smooth sensitivity of a data-dependent bound to the votes of one teacher
data_dependent.py      data-dependent epsilon of the answers, and its publication with noise
"""

from .confident import ConfidentGNMax as ConfidentGNMax, InteractiveGNMax as InteractiveGNMax
from .data_dependent import (
    DataDependent as DataDependent,
    PrivateEpsilon as PrivateEpsilon,
    data_dependent as data_dependent,
)
from .disjoint_parts import (
    SampleAndAggregate as SampleAndAggregate,
    TeacherVotes as TeacherVotes,
    VotesOfParts as VotesOfParts,
)
from .noisy_max import GNMax as GNMax, LNMax as LNMax
from .pate import PATE as PATE
from .students import LabelSpreading as LabelSpreading
from .teachers import (
    EstimatorTeachers as EstimatorTeachers,
    KernelTeachers as KernelTeachers,
    NearestTeachers as NearestTeachers,
    Teachers as Teachers,
)
from .vote_counts import count_votes as count_votes
