"""Reconstruction from answers: a column of bits, from many counts of subsets of it.

base.py                Decoder, Decoded and Status: read this first
exhaustive.py          all columns of bits are tried, up to 16
linear_programme.py    a column within the stated error of every answer
l1.py                  the nearest column in the sum of absolute differences
least_squares.py       the nearest column in the sum of squares, all runs at once
flips.py               the most probable column of bits under Gaussian noise, by local search
integer_programme.py   the most probable column of bits under Laplace, geometric or bounded noise
adaptive.py            averaging and differencing: attacks that choose their questions
subset_queries.py      subsets that a query language cannot refuse
"""

from .adaptive import Averaging, Differencing
from .base import DecodedAnswers, Decoder, DecodingStatus
from .exhaustive import Exhaustive
from .flips import GaussianLikelihood
from .integer_programme import IntegerProgramme
from .l1 import L1Decoding
from .least_squares import BoxedLeastSquares, least_squares_accuracy
from .linear_programme import LinearProgramme
from .subset_queries import SubsetQueryAttack, floor_subsets

__all__ = [
    "Averaging",
    "BoxedLeastSquares",
    "DecodedAnswers",
    "Decoder",
    "DecodingStatus",
    "Differencing",
    "Exhaustive",
    "GaussianLikelihood",
    "IntegerProgramme",
    "L1Decoding",
    "LinearProgramme",
    "SubsetQueryAttack",
    "floor_subsets",
    "least_squares_accuracy",
]
