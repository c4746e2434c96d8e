"""Intentionally broken mechanisms: each claims one epsilon and has another; `base.py` says how each one is described.

accounting.py        Intentionally broken accountants: no run of a mechanism shows these bugs, but numbers that are
                     known
base.py              Mixins of the intentionally broken mechanisms: read this first
composition.py       Intentionally broken composition and amplification: a condition of the theorem does not hold
counts.py            Intentionally broken counts: histograms, subset counts and n-gram counts
deniability.py       Intentionally broken plausible deniability: taken for differential privacy, or learned without
                     noise
dp_sgd.py            Intentionally broken DP-SGD: base classes and accounting
dp_sgd_batches.py    Intentionally broken batches in DP-SGD: normalised, logged, skipped or weighted
dp_sgd_clipping.py   Intentionally broken clipping and divisors in DP-SGD
dp_sgd_noise.py      Intentionally broken DP-SGD: the noise, independent or correlated, and its accounting
dp_sgd_sampling.py   Intentionally broken DP-SGD: samplers whose claim is that of another sampler
federated.py         Intentionally broken federated averaging: the divisor, clipping or noise scale of another quantity
fine_tuning.py       Intentionally broken representation: treated as public, but fitted to the private records
float_samplers.py    Exact laws of samplers that compute in floats: the number of random draws that give an output
floats.py            Intentionally broken noise in floats: correct in real numbers, but the floats leak the answer
local.py             Intentionally broken local mechanisms: a biased coin, an assumed range of the data, and ties in two
                     sets
noise.py             Intentionally broken additive noise: its scale is wrong, or it is missing
pate.py              Intentionally broken PATE: votes that one record moves too far, or queries that are not accounted
                     for
query_release.py     Intentionally broken query release: matrix mechanism, TopDown and multiplicative weights
selection.py         Intentionally broken selection: noisy maxima, the exponential mechanism, hyper-parameter tuning
sparse_vector.py     Intentionally broken sparse vector techniques
statistics.py        Intentionally broken statistics: sums, means, medians and second moments
synthetic_data.py    Intentionally broken synthetic data: records are copied, or a selection of measurements leaks

Only the small modules are imported here, so that each of the others costs only itself.
"""

from .local import BiasedCoinResponse as BiasedCoinResponse
from .noise import LaplaceInverseScale as LaplaceInverseScale, LaplaceUnitSensitivity as LaplaceUnitSensitivity
