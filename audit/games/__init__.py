"""How randomness is arranged, from what is asked to the evidence, and from the evidence to a result.

question.py         what is asked of a mechanism on a pair, checked and complete
pair.py             distinguishing: runs on either dataset of a pair
observed.py         what its trials show besides their scores
low_bits.py         one result of two scores: with the low bits of floats, and without
refuted.py          the event that refutes a claim, shown to people
canaries.py         membership: fair coins for canaries, runs, scores -> BitScores
reconstruction.py   reconstruction: a secret is drawn, and guessed -> Successes, BitScores
rounds.py           its rounds, a chunk at a time
training.py         shadow models, trained by the trials engine
outside.py          audit_scores: evidence that other code made
conclude.py         from evidence to a result, the same for every game
"""

from .canaries import gradient_canary_game, membership_game, one_run
from .reconstruction import reconstruction_game
from .training import train_shadows

__all__ = ["gradient_canary_game", "membership_game", "one_run", "reconstruction_game", "train_shadows"]
