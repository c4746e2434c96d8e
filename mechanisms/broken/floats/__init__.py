"""Noise that is right in real numbers and wrong in floats.

laplace.py     Laplace noise computed as the textbook writes it: outputs that only one neighbour can give
preimages.py   how many random numbers lead to an output: the exact law of such a sampler
tables.py      the exact curve of samplers whose outputs can all be listed
"""

from .laplace import FloatLaplace

__all__ = ["FloatLaplace"]
