"""Looking for a bad pair or a good attack, then confirming the winner on fresh trials.

search.py    search(): looks, then the confirmation
explore.py   which pairs of a domain are looked at: patterns, random ones, steps from the best
result.py    what was looked at and what was confirmed
domains/     what datasets a search may take, and the neighbouring pairs in it
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
