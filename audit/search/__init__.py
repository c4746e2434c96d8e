"""Search for a bad pair or a good attack; the winner is confirmed on fresh trials.

domains/           Domains: declared sets of datasets, and the neighbouring pairs that a search tries in them
explore.py         Exploration of a domain: patterns first, then random pairs and steps from the best pair so far
fitted.py          A mechanism for one of many pairs: a function with the form of its results on the pair
hostile/           Hostile data: pairs of neighbouring datasets that broke released libraries, from one example dataset
relations.py       Audits of a claim for which no relation is stated: for each relation that it may be about
result.py          The result of a search: its screening audits (looks), and the confirmation of the winner
search.py          Search for a bad pair or a good attack, with a confirmation of the winner on fresh trials
stress.py          Audits on hostile data: pairs that broke released libraries, made from one example dataset
stress_result.py   The result of audits on hostile data: one row for each pair, and the audit of the reported pair
stress_text.py     The text of audits on hostile data: which kinds of data refute the claim, and how to repeat the
                   shortest pair
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
from .result import SCREENING_CONFIDENCE as SCREENING_CONFIDENCE, Look as Look, SearchResult as SearchResult
from .search import search as search
from .stress import DEFAULT_TIMEOUT as DEFAULT_TIMEOUT, DEFAULT_TRIALS as DEFAULT_TRIALS, stress as stress
from .stress_result import PairOutcome as PairOutcome, StressedPair as StressedPair, StressResult as StressResult
