"""Reconstruction from answers: a column of bits, from many counts of subsets of it.

base.py                Interfaces of decoders: read this first
chosen_queries.py      Attacks that choose their queries: averaging, differencing, and subsets that a query language
                       cannot refuse
exhaustive.py          Exhaustive search: all columns of bits that fit the answers, and the distance between them
least_squares.py       Least squares in a box: the column whose answers are nearest to the observed answers in the sum
                       of squares
likelihood.py          Maximum likelihood over columns of bits: local search under Gaussian noise, integer programmes
                       under other noise
linear_programmes.py   Decoding by linear programmes: a column within the stated error of every answer, or the nearest
                       in the L1 norm
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
