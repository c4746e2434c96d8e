"""Reconstruction: what was in the dataset? A secret is drawn from a known prior, the mechanism runs, an attack guesses.

answers/                Reconstruction from answers: a column of bits, from many counts of subsets of it
base.py                 Interfaces of reconstruction attacks: read this first
catalogue.py            Names of the reconstruction attacks. A new attack is one file and one line; `dpassay list
                        reconstructors` shows them
extraction/             Training text from language models: extraction, and the rank of a planted canary
learned.py              A reconstructor that learns from runs only: for mechanisms known only by samples
maximum_likelihood.py   The most probable secret, given the output: the optimal guess if the law of the outputs is known
tables/                 Reconstruction of published tables by integer programming: which blocks of people have these
                        tables?
training/               Training data from the results of training: coefficients, noisy steps, or a gradient

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
