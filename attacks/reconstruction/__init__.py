"""Reconstruction: what was in the dataset? A secret is drawn from a known prior, the mechanism runs, an attack guesses.

base.py                 OneOf and FairBits (secrets), Reconstructor and Guesser: read this first
answers/                a column of bits from many counts of subsets of it
columns.py              what learned.py reads of outputs, exceptional ones included
learned.py              a model that learns from runs, where nothing but runs is known
maximum_likelihood.py   the most probable secret, where the law of the outputs is known
catalogue.py            all of them by name
tables/                 blocks of people from published tables
training/               training data from what a training released

`dpassay.audit.games.reconstruction_game` plays the rounds.
extraction/          Training text out of language models: what they write by themselves, and how far up a planted cana
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
