"""Names for records without names: linkage with background knowledge.

registers.py   linkage on quasi-identifiers: columns that two tables share link one to the names of the other
ratings.py     linkage of sparse records: a person is identified by a few ratings and approximate dates
groups.py      leakage of k-anonymous groups: one table by homogeneity, two by intersection
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
