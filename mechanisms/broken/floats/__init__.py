"""Noise that is right in real numbers and wrong in floats, and noise whose making can be timed.

gaussian.py      Gaussian noise made two numbers at a time: outputs that only one neighbour can give
ladder.py        the floats of one format in their order
laplace.py       Laplace noise computed as the textbook writes it: outputs that only one neighbour can give
loop_count.py    integer noise drawn in a loop, and the number of its turns
pairs.py         samplers of two Gaussian numbers, and the way back from an output
preimages.py     how many random numbers lead to an output: the exact law of a sampler that computes in floats
rounded_sum.py   perfect noise that is added in floats: the last bits tell how large the answer is
tables.py        the exact curve of samplers whose outputs can all be listed
"""

from .gaussian import FloatGaussian as FloatGaussian
from .laplace import FloatLaplace as FloatLaplace
from .loop_count import LoopCountReleased as LoopCountReleased
from .rounded_sum import RoundedSum as RoundedSum
