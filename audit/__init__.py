"""How sure we are: trials -> scores -> bound -> verdict.

api.py       audit(), assert_private()
question.py  what is asked, checked and complete
run.py       a question being answered
trials/      plan, seeds, execution, store on disk, resume
games.py     what bounds read
bounds/      one bound a file
power.py     what so many trials could have shown
verdict.py   bound against claim
results.py   what is returned, and its JSON form
"""

from audit.api import assert_private, audit
from audit.bounds.base import Bound, LedgerEntry, LowerBound
from audit.results import AuditResult
from audit.verdict import Verdict
from mechanisms.errors import PrivacyViolation

__all__ = [
    "AuditResult",
    "Bound",
    "LedgerEntry",
    "LowerBound",
    "PrivacyViolation",
    "Verdict",
    "assert_private",
    "audit",
]
