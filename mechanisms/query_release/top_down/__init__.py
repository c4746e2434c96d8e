"""TopDown: tables of a nation, its states and their counties, as a census publishes them.

base.py            what both kinds of noise share: options, releases, their law, the pair
feasible.py        whether any tables fit the invariants, and which of these go against each other
geography.py       a nation of states of counties
least_squares.py   least squares with fixed sums and without negative numbers, for many runs at once
noise.py           GaussianTopDown, GeometricTopDown
plan.py            all that is public before the data are seen
processing.py      from measurements to tables, from the top down
rounding.py        whole numbers with the same sums
neighbouring_moves.py Changes of the measurements by one person, for pairs that agree on the invariants
queries.py           Parts of a release over a geography: measured queries, invariants, structural zeros
"""

from .geography import LEVELS as LEVELS, Geography as Geography
from .noise import GaussianTopDown as GaussianTopDown, GeometricTopDown as GeometricTopDown
from .queries import Invariant as Invariant, LevelQuery as LevelQuery
