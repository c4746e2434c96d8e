"""How sure we are: trials -> evidence -> bound -> verdict.

api.py       audit(), audit_scores(), assert_private()
evidence/    statement, scores, game, verdict, multiplicity: what is asked, and what is read
bounds/      one bound a file
games/       what is asked, trials of each game, scores from elsewhere, and the conclusion that all share
trials/      plan, seeds, execution, store on disk, resume
power.py     what this many trials could have shown
rounds_needed.py  how many rounds of a reconstruction refute a claim that is false by so much
remedies.py       what to change in an audit that could not have refuted its claim, and by how much
least_shown.py  the search for the least that would have been seen
search/      many pairs and attacks, given or from a domain: the winner is confirmed on fresh trials
recording/   what a program does with its noise, compared on both sides: no statistics
membership/  metrics of membership attacks
inference/   what attacks on the data of people gain over what is guessed anyway: metrics
estimates/   numbers without coverage: another type
testing/     coverage and power on laws with a known epsilon
witness/     findings without statistics, and how a third party checks a violation
results/     what is returned, its words, its JSON form
"""

from ..mechanisms.errors import PrivacyViolation
from .api import assert_private, audit, audit_scores
from .bounds.base import Bound, LedgerEntry, LowerBound
from .evidence.scores import BitScores, PairScores, Successes
from .evidence.verdict import Verdict
from .recording import record
from .results.audit_result import AuditResult
from .search import SearchResult, search
from .witness import Witness

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
