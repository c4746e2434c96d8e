"""Messages of local mechanisms in random order: what is promised when nobody knows who sent which.

clones.py        ClonesDP       the numerical bound: a message hides among those that might be its clones
closed_form.py   shuffled_epsilon, and the two regimes in which it behaves simply
choosing.py      local_epsilon_for: how much each user may give away, for a target after shuffling
"""

from .choosing import local_epsilon_for, local_epsilon_rule
from .clones import ClonesDP
from .closed_form import large_epsilon_regime, largest_local_epsilon, shuffled_epsilon, small_epsilon_regime

__all__ = [
    "ClonesDP",
    "large_epsilon_regime",
    "largest_local_epsilon",
    "local_epsilon_for",
    "local_epsilon_rule",
    "shuffled_epsilon",
    "small_epsilon_regime",
]
