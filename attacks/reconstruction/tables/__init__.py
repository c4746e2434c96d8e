"""Reconstruction of published tables by integer programming: which blocks of people have these tables?

published.py           tables as a reader has them: every statistic with its value, or suppressed
integer_programme.py   integer programmes, solved by HiGHS; no-good cuts
encoding.py            tables as an integer programme over histograms
solutions.py           all blocks that have the tables: the number of them is the leak
decoding.py            the likeliest block, given noisy counts
claims.py              what is certain: claims and people, proved by infeasibility of their negation
conflicts.py           tables that no block has: which cells contradict each other
reconstructor.py       the attack on published tables in the reconstruction game
imputer.py             what is guessed without the tables, and how many people are found beside it
"""

from .claims import CertainPeople, Certainty, Claim, at_least_one, certain_people, count_is, decide, none_of
from .conflicts import Conflict, conflict
from .decoding import DecodedPeople, decode
from .imputer import ImputationResult, expected_block, found_people
from .published import PublishedCell, PublishedTables
from .reconstructor import TablesReconstructor
from .solutions import Solutions, solve

__all__ = [
    "CertainPeople",
    "Certainty",
    "Claim",
    "Conflict",
    "DecodedPeople",
    "ImputationResult",
    "PublishedCell",
    "PublishedTables",
    "Solutions",
    "TablesReconstructor",
    "at_least_one",
    "certain_people",
    "conflict",
    "count_is",
    "decide",
    "decode",
    "expected_block",
    "found_people",
    "none_of",
    "solve",
]
