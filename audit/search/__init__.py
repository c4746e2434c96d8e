"""Looking for a bad pair or a good attack, then confirming the winner on fresh trials.

search.py    search(): looks, then the confirmation
explore.py   which pairs of a domain are looked at: patterns, random ones, steps from the best
result.py    what was looked at and what was confirmed
domains/     what datasets a search may take, and the neighbouring pairs in it
"""

from .domains.answers import AnswersDomain
from .domains.base import SearchDomain
from .domains.records import OneValue, Records
from .domains.text import domain_from
from .domains.values import Categories, Integers, Numbers, Values, Vectors
from .explore import first_pair
from .result import Look, SearchResult
from .search import SCREENING_CONFIDENCE, search

__all__ = [
    "SCREENING_CONFIDENCE",
    "AnswersDomain",
    "Categories",
    "Integers",
    "Look",
    "Numbers",
    "OneValue",
    "Records",
    "SearchDomain",
    "SearchResult",
    "Values",
    "Vectors",
    "domain_from",
    "first_pair",
    "search",
]
