"""TopDown: tables of a nation, its states and their counties, as a census publishes them.

base.py              Base class of TopDown with discrete Gaussian and with geometric noise
broken.py            Intentionally broken TopDown: invariants are not accounted for
geography.py         Parts of a release over a geography: the geography, measured queries, invariants, structural zeros
noise.py             TopDown with discrete Gaussian and with two-sided geometric noise
plan.py              Plan of a release: the public options, independent of the data, checked against each other
post_processing.py   Post-processing from measurements to tables, from the top down, which depends on the release only
"""

from .geography import LEVELS as LEVELS, Geography as Geography, Invariant as Invariant, LevelQuery as LevelQuery
from .noise import GaussianTopDown as GaussianTopDown, GeometricTopDown as GeometricTopDown
