"""Amplification by shuffling the messages of local mechanisms, and by sampling the records.

clones.py        Amplification by shuffling: the numerical bound, by which a message hides among its clones, and its
                 inverse
closed_form.py   Amplification by shuffling: closed-form bounds and their two asymptotic regimes
subsampling.py   Privacy amplification by subsampling
"""

from .clones import (
    ClonesDP as ClonesDP,
    local_epsilon_for as local_epsilon_for,
    local_epsilon_rule as local_epsilon_rule,
)
from .closed_form import (
    large_epsilon_regime as large_epsilon_regime,
    largest_local_epsilon as largest_local_epsilon,
    shuffled_epsilon as shuffled_epsilon,
    small_epsilon_regime as small_epsilon_regime,
)
