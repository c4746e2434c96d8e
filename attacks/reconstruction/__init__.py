"""Reconstruction: what was in the dataset? A secret is drawn from a known prior, the mechanism runs, an attack guesses.

base.py                 Interfaces of reconstruction attacks: read this first
catalogue.py            Names of the reconstruction attacks. A new attack is one file and one line; `dpassay list
                        reconstructors` shows them
learned.py              A reconstructor that learns from runs only: for mechanisms known only by samples
maximum_likelihood.py   The most probable secret, given the output: the optimal guess if the law of the outputs is known

`dpassay.audit.games.reconstruction_game` plays the rounds.
"""

from .base import (
    FairBits as FairBits,
    Guesser as Guesser,
    OneOf as OneOf,
    Reconstructor as Reconstructor,
    Secret as Secret,
    SecretTarget as SecretTarget,
)
from .learned import LearnedReconstruction as LearnedReconstruction
from .maximum_likelihood import MaximumLikelihood as MaximumLikelihood
