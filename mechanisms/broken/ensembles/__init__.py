"""Wrong on purpose: votes of teachers that one record can move by more than it should, or that are not paid for.

same_part.py            SamePartForAll: every teacher gets the same part
kept_teachers.py        TeachersKept: new parts in every round, the same teachers
vote_scale.py           VoteScaleInverse: the scale of the noise is upside down
unpaid_abstention.py    AbstentionNotAccounted: queries without an answer are not counted
check_without_noise.py  CheckWithoutNoise: the votes themselves decide whether there is an answer
epsilon_of_votes.py     EpsilonOfVotes: the data-dependent epsilon is published as it is
"""

from .check_without_noise import CheckWithoutNoise as CheckWithoutNoise
from .epsilon_of_votes import EpsilonOfVotes as EpsilonOfVotes
from .kept_teachers import TeachersKept as TeachersKept
from .same_part import SamePartForAll as SamePartForAll
from .unpaid_abstention import AbstentionNotAccounted as AbstentionNotAccounted
from .vote_scale import VoteScaleInverse as VoteScaleInverse
