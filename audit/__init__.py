"""How sure we are: trials -> evidence -> bound -> verdict.

api.py       audit(), audit_scores(), assert_private()
evidence/    statement, scores, game, verdict, multiplicity: what is asked, and what is read
bounds/      one bound a file
games/       what is asked, trials of each game, scores from elsewhere, and the conclusion that all share
trials/      plan, seeds, execution, store on disk, resume
search/      many pairs and attacks, given or from a domain: the winner is confirmed on fresh trials
recording/   what a program does with its noise, compared on both sides: no statistics
results/     what is returned, its words, its JSON form
calibration/         Coverage and power of the bounds, measured on laws with a known epsilon
metrics/             What an attack on the data of people gains over what is guessed anyway. Metrics: no bound on epsil
plugin/              Privacy claims as tests of pytest: what is behind `dpassay.pytest_plugin`, which holds the hooks
power/               Power
"""

from ..mechanisms.core.errors import PrivacyViolation
from .api import assert_private, audit, audit_scores
from .bounds.base import Bound, LedgerEntry, LowerBound
from .evidence.scores import BitScores, PairScores, Successes
from .evidence.verdict import Verdict
from .recording import record
from .results.audit_result import AuditResult
from .results.witness.base import Witness
from .search import SearchResult, search

__all__ = [
    "AuditResult",
    "BitScores",
    "Bound",
    "LedgerEntry",
    "LowerBound",
    "PairScores",
    "PrivacyViolation",
    "SearchResult",
    "Successes",
    "Verdict",
    "Witness",
    "assert_private",
    "audit",
    "audit_scores",
    "record",
    "search",
]
