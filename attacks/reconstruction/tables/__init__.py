"""Reconstruction of published tables by integer programming: which blocks of people have these tables?

published.py           tables as a reader has them: every statistic with its value, or suppressed
integer_programme.py   integer programmes, solved by HiGHS; no-good cuts
encoding.py            tables as an integer programme over histograms
solutions.py           all blocks that have the tables; if there are none, the cells that contradict each other
claims.py              certain claims and people, proved by infeasibility of their negation
decoding.py            the most probable block, given noisy counts
reconstructor.py       the attack on published tables in the reconstruction game
imputer.py             guesses without the tables, and the number of people identified in comparison
"""

from .claims import (
    CertainPeople as CertainPeople,
    Certainty as Certainty,
    Claim as Claim,
    at_least_one as at_least_one,
    certain_people as certain_people,
    count_is as count_is,
    decide as decide,
    none_of as none_of,
)
from .decoding import DecodedPeople as DecodedPeople, decode as decode
from .imputer import (
    ImputationResult as ImputationResult,
    expected_block as expected_block,
    identify_people as identify_people,
)
from .published import PublishedCell as PublishedCell, PublishedTables as PublishedTables
from .reconstructor import TablesReconstructor as TablesReconstructor
from .solutions import Conflict as Conflict, Solutions as Solutions, conflict as conflict, solve as solve
