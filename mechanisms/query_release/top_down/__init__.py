"""TopDown: tables of a nation, its states and their counties, as a census publishes them.

base.py             TopDown: options, releases, their law, the pairs that agree on the invariants
geography.py        Geography, LevelQuery, Invariant
noise.py            GaussianTopDown, GeometricTopDown
plan.py             the public plan of a release: its parts, checked against each other; infeasible invariants
post_processing.py  from measurements to tables: least squares level by level, and controlled rounding
"""

from .geography import LEVELS as LEVELS, Geography as Geography, Invariant as Invariant, LevelQuery as LevelQuery
from .noise import GaussianTopDown as GaussianTopDown, GeometricTopDown as GeometricTopDown
