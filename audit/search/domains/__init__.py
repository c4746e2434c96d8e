"""Domains: declared sets of datasets, and the neighbouring pairs that a search tries in them.

base.py     the interface of a domain, and sketches of pairs
values.py   values of one record: numbers, integers, categories, vectors of these
records.py  lists of records, and single values
answers.py  vectors of answers within a sensitivity
text.py     a domain from a line of text, a table or a file
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
