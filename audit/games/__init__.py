"""From the setup of an audit to evidence, and from evidence to a result.

breakdown.py         The parts of the claim of an audit on a pair, for mechanisms whose white-box curve is known
canaries.py          The membership game with fair coins as bits, which is required for a bound on epsilon
coins.py             One run of the user's own training loop, with a fair coin for each canary
conclude.py          The conclusion of an audit: from evidence to a result, for every game
diagnostics.py       Observations on the trials of a pair other than scores: witnesses, dependence, warnings, the
                     refuting event
external_scores.py   Audits of scores from external code: the runs were made on other machines, or in another language
looks.py             Looks at one set of coins: the audits of different scores, claims or bounds with the same coins
no_answer.py         The event "no answer": calls that return on one side of a pair only
pair.py              The distinguishing game on a pair: pilot, evaluation, bounds, verdict
reconstruction.py    The reconstruction game: a secret is drawn, the mechanism runs once, and the secret is guessed
rounds.py            Rounds of the reconstruction game, one chunk at a time: secrets, runs, guesses. Workers receive
                     these objects
setup.py             The setup of an audit: all arguments, checked and complete, before any run
training.py          Shadow models, and the models of the game, trained by the trials engine
"""

from typing import TYPE_CHECKING

from ...mechanisms.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from .canaries import (
        gradient_canary_game as gradient_canary_game,
        membership_game as membership_game,
        one_run as one_run,
    )
    from .reconstruction import reconstruction_game as reconstruction_game
    from .training import train_shadows as train_shadows
else:
    __getattr__, __dir__ = lazy_names(__name__)
