"""From trials to evidence, a lower bound on epsilon, and a verdict on the claim.

api.py        audit(), audit_scores(), assert_private()
evidence/     statement, scores, games, verdict, corrections for several hypotheses
bounds/       lower bounds on epsilon, one a file
games/        the trials of each game, scores of external code, and the conclusion that all games share
trials/       plan, random streams, execution, store on disk, resume
power/        what a number of trials can detect, and remedies where that is nothing
results/      audit results, their text and their JSON form; witnesses and estimates
search/       many pairs and attacks: the winner is confirmed on fresh trials
recording/    the random primitives of a program, compared on both sides: no statistics
metrics/      gain of attacks over baselines, disclosure, membership metrics: no bounds on epsilon
calibration/  coverage and power of the bounds, measured on laws with a known epsilon
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
