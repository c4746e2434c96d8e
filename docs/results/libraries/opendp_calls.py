"""Calls of opendp, whose noise comes from the operating system: no seed repeats them."""

import opendp.prelude as dp

dp.enable_features("contrib", "honest-but-curious")
REAL = dp.atom_domain(T=float, nan=False)
LAPLACE = dp.m.make_laplace(REAL, dp.absolute_distance(T=float), scale=1.0)
SUM = (
    (dp.vector_domain(REAL), dp.symmetric_distance())
    >> dp.t.then_clamp((0.0, 1.0))
    >> dp.t.then_sum()
    >> dp.m.then_laplace(scale=1.0)
)
NOISY_MAX = dp.m.make_noisy_max(
    dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int), dp.max_divergence(), scale=2.0
)


def laplace(value, rng):
    return LAPLACE(float(value))


def total(dataset, rng):
    return SUM([float(value) for value in dataset])


def noisy_max(scores, rng):
    return NOISY_MAX([int(score) for score in scores])
