"""Fitting a distribution to measured marginals: post-processing of the answers.

direct.py        over the cells of the whole domain
potentials.py    mirror descent on the potentials of a distribution, batched over runs
"""

from .direct import DirectGenerator

__all__ = ["DirectGenerator"]
