"""From trials to evidence, a lower bound on epsilon, and a verdict on the claim.

api.py         `audit`, `audit_scores` and `assert_private`: from a mechanism, or from scores, to a verdict
bounds/        Lower bounds on epsilon from evidence, one a file
calibration/   Coverage and power of the bounds, measured on laws with a known epsilon
evidence/      The statement of an audit, the evidence that bounds read, and the verdict
games/         From the setup of an audit to evidence, and from evidence to a result
metrics/       Gain of attacks on people's data over baselines, and membership metrics; none of them bounds epsilon
power/         Power of an audit: what a number of trials can detect, and what to change where that is nothing
randomness/    Whether the runs of one process are independent: an experiment with fresh processes
recording/     Random primitives of a program, compared on two neighbouring datasets: no statistics, a few runs
results/       Results of audits: frozen, with a table, a figure and one JSON form
search/        Search for a bad pair or a good attack; the winner is confirmed on fresh trials
trials/        Running trials: plan, random streams, execution, store on disk, resume
"""

import sys as _sys
from typing import TYPE_CHECKING

from ..mechanisms.core import PrivacyViolation as PrivacyViolation
from ..mechanisms.core.lazy_names import lazy_names
from .api import (
    CallableModule as _CallableModule,
    assert_private as assert_private,
    audit as audit,
    audit_scores as audit_scores,
)
from .search import search as search, stress as stress  # now: folders have the same names

if TYPE_CHECKING:
    from .bounds.base import Bound as Bound, LedgerEntry as LedgerEntry, LowerBound as LowerBound
    from .evidence.scores import BitScores as BitScores, PairScores as PairScores, Successes as Successes
    from .evidence.verdict import Verdict as Verdict
    from .games.coins import Coins as Coins
    from .recording import record as record
    from .results.audit_result import AuditResult as AuditResult
    from .results.witness.base import Witness as Witness
    from .search import SearchResult as SearchResult, StressResult as StressResult
else:
    __getattr__, __dir__ = lazy_names(__name__)

_sys.modules[__name__].__class__ = _CallableModule  # `from dpassay import audit; audit(mechanism)` works
