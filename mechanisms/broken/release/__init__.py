"""Answers to many queries, wrong on purpose.

invariants.py            exact totals that the claim forgets
matrix_sensitivity.py    noise for the sensitivity of what is asked, on what is measured
"""

from .invariants import InvariantsForgotten as InvariantsForgotten
from .matrix_sensitivity import (
    GaussianNoiseForWorkload as GaussianNoiseForWorkload,
    LaplaceNoiseForWorkload as LaplaceNoiseForWorkload,
)
