"""How much membership attacks find out, and when that says something about epsilon.

    train_shadows       models of random halves of the records -> Shadows
    evaluate            attacks on shadow models -> MembershipResult: metrics, never a bound on epsilon
    membership_game     fair coins for canaries, runs, scores -> BitScores: what the one-run bounds read
    one_run             the bits of one of the shadow models -> BitScores

roc.py        AUC and true positive rates, with intervals that know that scores share models and records
records.py    which records, and which groups, are exposed
feature_baseline.py   what the records give away without any model
evaluate.py   all of it for many attacks
result.py     MembershipResult and its JSON form
text.py       the table that a person reads
training.py   shadow models, trained by the trials engine
game.py       the game whose bits are fair coins
"""

from .evaluate import evaluate
from .game import gradient_canary_game, membership_game, one_run
from .result import MembershipResult
from .training import train_shadows

__all__ = ["MembershipResult", "evaluate", "gradient_canary_game", "membership_game", "one_run", "train_shadows"]
