"""Amplification by shuffling the messages of local mechanisms, and by sampling the records.

clones.py       ClonesDP: the numerical bound for shuffled messages; local_epsilon_for: its inverse
closed_form.py  shuffled_epsilon: closed-form bounds for shuffled messages, and their two asymptotic regimes
subsampling.py  subsample: an (epsilon, delta)-DP mechanism on a secret random sample
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
