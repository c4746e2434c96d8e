"""Names for records without names: linkage with background knowledge.

groups.py      Leakage of k-anonymous groups: by homogeneity in one table, by intersection in several
ratings.py     Linkage of sparse records: identification of a person by a few ratings and approximate dates
registers.py   Linkage on quasi-identifiers: columns common to two tables link the names of one to the records of the
               other
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
    PersonMatch as PersonMatch,
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
