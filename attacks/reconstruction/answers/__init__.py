"""Reconstruction from answers: a column of bits, from many counts of subsets of it.

base.py                Decoder, DecodedAnswers and DecodingStatus: read this first
exhaustive.py          all columns of up to 16 bits that fit the answers
linear_programmes.py   a column within the stated error of every answer, or the nearest in the L1 norm
least_squares.py       the nearest column in the sum of squares, all runs at once
likelihood.py          the most probable column of bits, by local search or integer programme
chosen_queries.py      attacks that choose their queries: averaging, differencing, subsets that cannot be refused
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
