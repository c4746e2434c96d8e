"""Metrics of membership attacks on shadow models, which `dpassay.audit.games` trains.

evaluate.py          evaluate(): many attacks on the same models -> MembershipResult
roc.py               AUC and true positive rates, with intervals for scores that share models and records
records.py           exposed records, and exposed groups of records
feature_baseline.py  membership from the features of records alone, without a model
result.py            MembershipResult and its JSON form
text.py              its table, and notes on how to read it
"""

from .evaluate import evaluate as evaluate
from .result import MembershipResult as MembershipResult
