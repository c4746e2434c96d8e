"""How sure we are: trials -> scores -> bound -> verdict.

api.py       audit(), assert_private()
question.py  what is asked, checked and complete
run.py       a question being answered
trials/      plan, seeds, execution, store on disk, resume
games.py     what bounds read
bounds/      one bound a file
power.py     what so many trials could have shown
search.py    many pairs and attacks: the winner is confirmed on fresh trials
estimates/   numbers without coverage: another type
multiplicity.py   Bonferroni, Holm, e-BH
testing/     coverage and power on laws with a known epsilon
verdict.py   bound against claim
results.py   what is returned, and its JSON form
"""

from ..mechanisms.errors import PrivacyViolation
from .api import assert_private, audit
from .bounds.base import Bound, LedgerEntry, LowerBound
from .evidence.verdict import Verdict
from .results import AuditResult
from .search import SearchResult, search

__all__ = [
    "AuditResult",
    "Bound",
    "LedgerEntry",
    "LowerBound",
    "PrivacyViolation",
    "SearchResult",
    "Verdict",
    "assert_private",
    "audit",
    "search",
]
