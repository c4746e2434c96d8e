"""What datasets a search may take: a declared domain, and the neighbouring pairs that are tried in it.

base.py      the interface, and pairs before they are datasets
values.py    what one record may be: numbers, integers, categories, vectors of these
records.py   lists of records, and single values
answers.py   vectors of answers within a sensitivity
text.py      a domain from a line of text, a table or a file
"""

from .answers import AnswersDomain as AnswersDomain
from .base import SearchDomain as SearchDomain
from .records import OneValue as OneValue, Records as Records
from .text import domain_from as domain_from
from .values import (
    Categories as Categories,
    Integers as Integers,
    Numbers as Numbers,
    Values as Values,
    Vectors as Vectors,
)
