"""Messages of local mechanisms in random order: what is promised when nobody knows who sent which.

clones.py        ClonesDP       the numerical bound: a message hides among those that might be its clones
closed_form.py   shuffled_epsilon, and the two regimes in which it behaves simply
local_epsilon.py     Local epsilon for a target guarantee after shuffling
subsampling.py       Privacy amplification by subsampling
"""

from .clones import ClonesDP as ClonesDP
from .closed_form import (
    large_epsilon_regime as large_epsilon_regime,
    largest_local_epsilon as largest_local_epsilon,
    shuffled_epsilon as shuffled_epsilon,
    small_epsilon_regime as small_epsilon_regime,
)
from .local_epsilon import local_epsilon_for as local_epsilon_for, local_epsilon_rule as local_epsilon_rule
