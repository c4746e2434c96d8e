"""From the question of an audit to evidence, and from evidence to a result.

setup.py            the arguments of an audit, checked and complete, before any run
pair.py             distinguishing: runs on either dataset of a pair -> PairScores
diagnostics.py      observations on these runs: witnesses, dependence, warnings, the event that refutes a claim
canaries.py         membership: fair coins for canaries, runs, scores -> BitScores
training.py         shadow models, trained by the trials engine
reconstruction.py   reconstruction: a secret is drawn and guessed -> Successes, BitScores
rounds.py           the rounds of a reconstruction game, one chunk at a time
external_scores.py  audits of scores from external code
conclude.py         the conclusion from evidence to a result, the same for every game
"""

from .canaries import (
    gradient_canary_game as gradient_canary_game,
    membership_game as membership_game,
    one_run as one_run,
)
from .reconstruction import reconstruction_game as reconstruction_game
from .training import train_shadows as train_shadows
