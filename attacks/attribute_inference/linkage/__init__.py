"""Names for records that have none: linkage with what others know.

registers.py    linkage on quasi-identifiers: what stands in two tables brings the names of the one to the other
ratings.py      linkage of sparse records: who is behind a number that rated these films, on about these days?
groups.py       what the groups of k-anonymous tables give away: one table by homogeneity, two by intersection
"""

from .groups import (
    GroupBeliefs as GroupBeliefs,
    beliefs_from_counts as beliefs_from_counts,
    beliefs_from_groups as beliefs_from_groups,
    prior_beliefs as prior_beliefs,
)
from .ratings import (
    BackgroundKnowledge as BackgroundKnowledge,
    LinkageResult as LinkageResult,
    Match as Match,
    Ratings as Ratings,
    ScoreboardRH as ScoreboardRH,
    link_people as link_people,
)
from .registers import (
    Links as Links,
    expected_unique_share as expected_unique_share,
    link as link,
    pigeonhole_share as pigeonhole_share,
    unique_share as unique_share,
)
