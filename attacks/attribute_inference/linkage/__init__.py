"""Names for records that have none: linkage with what others know.

registers.py    linkage on quasi-identifiers: what stands in two tables brings the names of the one to the other
ratings.py      linkage of sparse records: who is behind a number that rated these films, on about these days?
groups.py       what the groups of k-anonymous tables give away: one table by homogeneity, two by intersection
"""

from .groups import GroupBeliefs, beliefs_from_counts, beliefs_from_groups, prior_beliefs
from .ratings import Knowledge, LinkedPerson, Match, Ratings, ScoreboardRH, find
from .registers import Links, expected_unique_share, link, pigeonhole_share, unique_share

__all__ = [
    "GroupBeliefs",
    "Knowledge",
    "LinkedPerson",
    "Links",
    "Match",
    "Ratings",
    "ScoreboardRH",
    "beliefs_from_counts",
    "beliefs_from_groups",
    "expected_unique_share",
    "find",
    "link",
    "pigeonhole_share",
    "prior_beliefs",
    "unique_share",
]
