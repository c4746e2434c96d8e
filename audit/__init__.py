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
power/               Power
"""

from ..mechanisms.core.errors import PrivacyViolation as PrivacyViolation
from .api import assert_private as assert_private, audit as audit, audit_scores as audit_scores
from .bounds.base import Bound as Bound, LedgerEntry as LedgerEntry, LowerBound as LowerBound
from .evidence.scores import BitScores as BitScores, PairScores as PairScores, Successes as Successes
from .evidence.verdict import Verdict as Verdict
from .recording import record as record
from .results.audit_result import AuditResult as AuditResult
from .results.witness.base import Witness as Witness
from .search import SearchResult as SearchResult, search as search
