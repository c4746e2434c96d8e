"""TopDown: tables of a nation, its states and their counties, as a census publishes them.

base.py            what both kinds of noise share: options, releases, their law, the pair
feasible.py        whether any tables fit the invariants, and which of these go against each other
geography.py       a nation of states of counties
least_squares.py   least squares with fixed sums and without negative numbers, for many runs at once
moves.py           what one person can move where a pair agrees on the invariants
noise.py           GaussianTopDown, GeometricTopDown
parts.py           what is measured, what is published exactly
plan.py            all that is public before the data are seen
processing.py      from measurements to tables, from the top down
rounding.py        whole numbers with the same sums
"""

from .geography import LEVELS, Geography
from .noise import GaussianTopDown, GeometricTopDown
from .parts import Invariant, LevelQuery

__all__ = ["LEVELS", "GaussianTopDown", "Geography", "GeometricTopDown", "Invariant", "LevelQuery"]
