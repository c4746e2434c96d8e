"""Noise on answers: query x noise.

base.py                what all mechanisms that add noise share: noise as a mechanism, and noise on one query
laplace.py             Laplace noise, and running sums of noisy numbers
gaussian.py            Gaussian noise
calibration.py         noise for a target (epsilon, delta), of one query or of many
counters.py            Gaussian noise on several counters, each with its own sensitivity
staircase.py           the smallest expected noise that epsilon-DP allows
snapping.py            Laplace noise, rounded so coarsely that floating-point numbers leak nothing
geometric.py           two-sided geometric (discrete Laplace) noise on whole numbers
grid.py                geometric noise on a grid of real numbers
discrete_gaussian.py   Gaussian noise on whole numbers
exact_samplers.py      samplers of discrete noise in whole numbers and fractions only: the reference
queries/               functions of the records, each with its sensitivity under every neighbouring relation
counts/                counts of many subsets of one column of bits, the target of reconstruction attacks
statistics/            statistics of records whose noise depends on more than a sensitivity
studies/               published statistics of a group of people, each with 0 or 1 in many columns
"""

from .discrete_gaussian import DiscreteGaussian as DiscreteGaussian
from .gaussian import Gaussian as Gaussian
from .geometric import Geometric as Geometric
from .grid import GridLaplace as GridLaplace
from .laplace import Laplace as Laplace, PrefixSums as PrefixSums
from .snapping import Snapping as Snapping
from .staircase import Staircase as Staircase
