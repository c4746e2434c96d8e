"""Wrong on purpose: votes of teachers that one record can move by more than it should.

same_part.py       SamePartForAll: every teacher gets the same part
kept_teachers.py   TeachersKept: new parts in every round, the same teachers
vote_scale.py      VoteScaleInverse: the scale of the noise is upside down
"""

from .kept_teachers import TeachersKept
from .same_part import SamePartForAll
from .vote_scale import VoteScaleInverse

__all__ = ["SamePartForAll", "TeachersKept", "VoteScaleInverse"]
