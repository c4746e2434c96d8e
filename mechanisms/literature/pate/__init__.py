"""Teachers that vote: models of disjoint parts of the records, whose noisy votes label public queries.

Data walks from records to votes (disjoint_parts.py, pate.py), and from votes to labels (aggregator.py).

aggregator.py               Base class of the aggregators, which answer each query by a label computed from a table of
                            votes
broken.py                   Intentionally broken PATE: votes that one record moves too far, or queries that are not
                            accounted for
confident.py                GNMax after a noisy check that enough teachers agree
data_dependent_epsilon.py   Data-dependent epsilon of the answers to a table of votes, and its publication
disjoint_parts.py           Models of disjoint parts of the records, whose votes are aggregated: from records to votes
                            to labels
noisy_max.py                Label with the most noisy votes: Laplace noise (LNMax) and Gaussian noise (GNMax)
pate.py                     PATE: teachers trained on private records label public data, on which a released student is
                            trained
renyi.py                    Renyi divergences of one answer on fixed votes, from an upper bound q on the probability
                            that the leader loses
repeated_queries.py         Exact curve of one query that is asked many times, possibly until a limit on the number of
                            answers
smooth_sensitivity.py       Smooth sensitivity of a data-dependent bound to a change of the votes of one teacher
students.py                 Semi-supervised labels of public points without an answer
teachers.py                 Teachers: classifiers of disjoint parts of the records, which label queries
vote_counts.py              Tables of votes: counting and checks
winners.py                  Probability that each label has the most noisy votes
"""

from .confident import ConfidentGNMax as ConfidentGNMax, InteractiveGNMax as InteractiveGNMax
from .data_dependent_epsilon import (
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
