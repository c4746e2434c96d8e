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

from .base import DecodedAnswers as DecodedAnswers, Decoder as Decoder, DecodingStatus as DecodingStatus
from .chosen_queries import (
    Averaging as Averaging,
    Differencing as Differencing,
    SubsetQueryAttack as SubsetQueryAttack,
    floor_subsets as floor_subsets,
)
from .exhaustive import Exhaustive as Exhaustive
from .least_squares import BoxedLeastSquares as BoxedLeastSquares, least_squares_accuracy as least_squares_accuracy
from .likelihood import GaussianLikelihood as GaussianLikelihood, IntegerProgramme as IntegerProgramme
from .linear_programmes import L1Decoding as L1Decoding, LinearProgramme as LinearProgramme
