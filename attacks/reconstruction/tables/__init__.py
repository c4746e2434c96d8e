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

from .claims import CertainPeople, Certainty, Claim, certain_people, decide, exactly, nobody, somebody
from .conflicts import Conflict, conflict
from .decoding import Decoded, decode
from .imputer import Found, expected_block, found_people
from .published import Cell, PublishedTables
from .reconstructor import TablesReconstructor
from .solutions import Solutions, solve

__all__ = [
    "Cell",
    "CertainPeople",
    "Certainty",
    "Claim",
    "Conflict",
    "Decoded",
    "Found",
    "PublishedTables",
    "Solutions",
    "TablesReconstructor",
    "certain_people",
    "conflict",
    "decide",
    "decode",
    "exactly",
    "expected_block",
    "found_people",
    "nobody",
    "solve",
    "somebody",
]
