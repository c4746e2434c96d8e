"""Reconstruction of published tables by integer programming: which blocks of people have these tables?

published.py           tables as a reader has them: every statistic with its value, or suppressed
integer_programme.py   integer programmes, solved by HiGHS; no-good cuts
encoding.py            tables as an integer programme over histograms
solutions.py           all blocks that have the tables: the number of them is the leak
claims.py              what is certain: claims and people, proved by infeasibility of their negation
conflicts.py           tables that no block has: which cells contradict each other
"""

from .claims import Certainty, CertainPeople, Claim, certain_people, decide, exactly, nobody, somebody
from .conflicts import Conflict, conflict
from .published import Cell, PublishedTables
from .solutions import Solutions, solve

__all__ = [
    "Cell",
    "CertainPeople",
    "Certainty",
    "Claim",
    "Conflict",
    "PublishedTables",
    "Solutions",
    "certain_people",
    "conflict",
    "decide",
    "exactly",
    "nobody",
    "solve",
    "somebody",
]
