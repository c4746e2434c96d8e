"""Teachers that vote: models of disjoint parts of the data, whose noisy vote is released.

votes.py           NoisyVotes: what every noisy vote shares
teacher_votes.py   TeacherVotes: one teacher a part
"""

from .teacher_votes import TeacherVotes
from .votes import NoisyVotes

__all__ = ["NoisyVotes", "TeacherVotes"]
