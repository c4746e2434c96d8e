"""Domains: declared sets of datasets, and the neighbouring pairs that a search tries in them.

answers.py   Vectors of answers, on which mechanisms without a query are audited: neighbours lie within the sensitivity
base.py      The interface of a domain: read this first
records.py   Lists of records that differ in one record, and datasets that are a single value
text.py      Construction of a domain from a line of text, a table, or a file with a table
values.py    Sets of possible records, or of single values
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
