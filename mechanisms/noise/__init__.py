"""Noise on answers: query x noise.

base.py                Base classes of noise on answers: query x noise
broken.py              Intentionally broken additive noise: its scale is wrong, or it is missing
broken_floats.py       Intentionally broken noise in floats: correct in real numbers, but the floats leak the answer
broken_statistic.py    Base class of intentionally broken statistics with Laplace noise
calibration.py         Calibration of noise: Gaussian noise for a target (epsilon, delta), Laplace noise for many
                       queries
counters.py            Gaussian noise on several counters of different sensitivities
discrete_gaussian.py   Discrete Gaussian noise on whole numbers: Gaussian noise without floating-point attacks
exact_samplers.py      Exact samplers of discrete noise: whole numbers and fractions only, one value at a time
float_samplers.py      Exact laws of samplers that compute in floats: the number of random draws that give an output
gaussian.py            Gaussian noise on a number or a vector of numbers
geometric.py           Two-sided geometric noise on whole numbers, also called discrete Laplace: no floating-point
                       attacks
grid.py                Laplace noise on a grid: the answer and the noise are multiples of one power of two, and so is
                       their sum
laplace.py             Laplace noise on a number or a vector of numbers
queries/               Functions of the records, each with its sensitivity under every neighbouring relation
snapping.py            Snapping: Laplace noise, rounded so coarsely that the low-order bits do not leak the data
staircase.py           Staircase noise: the smallest expected noise that epsilon-DP allows
"""

from .discrete_gaussian import DiscreteGaussian as DiscreteGaussian
from .gaussian import Gaussian as Gaussian
from .geometric import Geometric as Geometric
from .grid import GridLaplace as GridLaplace
from .laplace import Laplace as Laplace, PrefixSums as PrefixSums
from .snapping import Snapping as Snapping
from .staircase import Staircase as Staircase
