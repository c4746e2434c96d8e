"""How much membership attacks find out, and when that says something about epsilon.

    evaluate            attacks on shadow models -> MembershipResult: metrics, never a bound on epsilon

roc.py        AUC and true positive rates, with intervals that know that scores share models and records
records.py    which records, and which groups, are exposed
feature_baseline.py   what the records give away without any model
evaluate.py   all of it for many attacks
result.py     MembershipResult and its JSON form
text.py       the table that a person reads
The models are trained, and the coins tossed, in `dpassay.audit.games`.
"""

from .evaluate import evaluate as evaluate
from .result import MembershipResult as MembershipResult
