"""Reconstruction: what was in the dataset? A secret is drawn from a known prior, the mechanism runs, an attack guesses.

base.py                 OneOf and FairBits (secrets), Reconstructor and Guesser: read this first
catalogue.py            all reconstruction attacks by name
maximum_likelihood.py   the most probable secret, where the output law is known
learned.py              a model that learns from runs, for mechanisms known only by samples
answers/                a column of bits from many counts of subsets of it
tables/                 blocks of people from published tables
training/               training data from coefficients, noisy steps or a gradient
extraction/             training text from language models

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
