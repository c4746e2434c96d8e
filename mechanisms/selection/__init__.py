"""Mechanisms that choose one of finitely many candidates.

exponential.py   the exponential mechanism: choose one of finitely many candidates, good ones more often
"""

from .exponential import Exponential

__all__ = ["Exponential"]
