"""Mechanisms that are made of others, with the guarantee that a theorem gives.

base.py             Base classes of mechanisms that run one other mechanism, their `base`
broken.py           Intentionally broken composition and amplification: a condition of the theorem does not hold
parallel.py         Disjoint parts of the records, each with its own mechanism
post_processed.py   A data-independent function of the outputs of a mechanism
repeated.py         A mechanism that is run several times on the same dataset and releases all outputs
subsampled.py       A mechanism that runs on a secret random sample of the records
user_level.py       User-level privacy: all records of one person are added, removed or replaced together
"""

from .parallel import Parallel as Parallel
from .post_processed import PostProcessed as PostProcessed
from .repeated import Repeated as Repeated
from .subsampled import Subsampled as Subsampled, SubsampledDP as SubsampledDP, simplified_epsilon as simplified_epsilon
from .user_level import (
    UserLevel as UserLevel,
    check_users as check_users,
    remove_user as remove_user,
    replace_user as replace_user,
)
