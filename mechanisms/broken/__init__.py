"""Intentionally broken mechanisms: each claims one epsilon and has another; `base.py` says how each one is described.

base.py              what they share: claim, true curve, cause, source and correct twin; read this first
noise.py             Laplace and Gaussian noise with a wrong scale
floats.py            noise that is correct in real numbers and leaks in floats, or in its running time
float_samplers.py    exact laws of samplers that compute in floats
local.py             randomised response with a biased coin
statistics.py        sums, means, medians and second moments
counts.py            histograms, subset counts and n-gram counts
selection.py         noisy maxima, the exponential mechanism, hyper-parameter tuning
sparse_vector.py     sparse vector techniques
composition.py       parallel composition and amplification without their conditions
accounting.py        accountants: an odometer, a shuffling bound, searches for the noise multiplier
query_release.py     matrix mechanism, TopDown and multiplicative weights
synthetic_data.py    copied records, and selections of measurements that leak
deniability.py       plausible deniability taken for differential privacy
dp_sgd.py            DP-SGD: base class, noise and accounting
dp_sgd_clipping.py   DP-SGD: clipping and divisors
fine_tuning.py       a representation that is treated as public
federated.py         federated averaging
pate.py              votes of teachers

Only the small modules are imported here, so that each of the others costs only itself.
"""

from .local import BiasedCoinResponse as BiasedCoinResponse
from .noise import LaplaceInverseScale as LaplaceInverseScale, LaplaceUnitSensitivity as LaplaceUnitSensitivity
