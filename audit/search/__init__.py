"""Search for a bad pair or a good attack; the winner is confirmed on fresh trials.

search.py   search(): screening audits, then the confirmation
explore.py  exploration of a domain: patterns, random pairs, steps from the best pair
result.py   SearchResult: the screening audits, and the confirmation
domains/    sets of datasets to search, and their neighbouring pairs
"""

from .domains.answers import AnswersDomain as AnswersDomain
from .domains.base import SearchDomain as SearchDomain
from .domains.records import OneValue as OneValue, Records as Records
from .domains.text import domain_from as domain_from
from .domains.values import (
    Categories as Categories,
    Integers as Integers,
    Numbers as Numbers,
    Values as Values,
    Vectors as Vectors,
)
from .explore import first_pair as first_pair
from .result import Look as Look, SearchResult as SearchResult
from .search import SCREENING_CONFIDENCE as SCREENING_CONFIDENCE, search as search
