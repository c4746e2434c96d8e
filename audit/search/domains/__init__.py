"""What datasets a search may take: a declared domain, and the neighbouring pairs that are tried in it.

base.py      the interface, and pairs before they are datasets
values.py    what one record may be: numbers, integers, categories, vectors of these
records.py   lists of records, and single values
answers.py   vectors of answers within a sensitivity
text.py      a domain from a line of text, a table or a file
"""

from .answers import AnswersDomain
from .base import SearchDomain
from .records import OneValue, Records
from .text import domain_from
from .values import Categories, Integers, Numbers, Values, Vectors

__all__ = [
    "AnswersDomain",
    "Categories",
    "Integers",
    "Numbers",
    "OneValue",
    "Records",
    "SearchDomain",
    "Values",
    "Vectors",
    "domain_from",
]
