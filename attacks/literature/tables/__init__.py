"""Reconstruction of published tables by integer programming: which blocks of people have these tables?

claims.py              Claims about a block that hold for every block with the published tables
decoding.py            Maximum-likelihood block, given noisy counts, by an integer programme
encoding.py            Tables as an integer programme, whose solutions are the histograms over types of people with
                       these tables
imputer.py             Guesses without the tables, and the people found by the tables in comparison
integer_programme.py   Integer programmes, solved by HiGHS (Huangfu and Hall 2018) through scipy
published.py           Published tables: every statistic with its published value, or suppressed
reconstructor.py       The attack on published tables in the reconstruction game, which guesses the person that was
                       drawn
solutions.py           All blocks that have the published tables: the fewer, the larger the leak; one block reveals
                       every person
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
