"""How randomness is arranged, from what is asked to the evidence, and from the evidence to a result.

pair.py             distinguishing: runs on either dataset of a pair
low_bits.py         one result of two scores: with the low bits of floats, and without
canaries.py         membership: fair coins for canaries, runs, scores -> BitScores
reconstruction.py   reconstruction: a secret is drawn, and guessed -> Successes, BitScores
rounds.py           its rounds, a chunk at a time
training.py         shadow models, trained by the trials engine
conclude.py         from evidence to a result, the same for every game
diagnostics.py       Observations on the trials of a pair other than scores: witnesses, dependence, warnings and notes
external_scores.py   Audits of scores from external code: the runs were made on other machines, or in another language
refuting_event.py    The event that refutes a claim, for the report: examples of outputs in it and outside, and a rule
setup.py             The question of an audit: all arguments, checked and complete, before any run
"""

from .canaries import (
    gradient_canary_game as gradient_canary_game,
    membership_game as membership_game,
    one_run as one_run,
)
from .reconstruction import reconstruction_game as reconstruction_game
from .training import train_shadows as train_shadows
