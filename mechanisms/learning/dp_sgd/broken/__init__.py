"""Intentionally broken DP-SGD: each claims one epsilon and has another.

base.py          Intentionally broken DP-SGD: base classes and accounting
batches.py       Intentionally broken batches in DP-SGD: normalised, logged, skipped or weighted
clipping.py      Intentionally broken clipping in DP-SGD
divisors.py      Intentionally broken divisors in DP-SGD: they depend on the data
fine_tuning.py   Intentionally broken representation: treated as public, but fitted to the private records
noise.py         Intentionally broken DP-SGD: the noise, independent or correlated, and its accounting
sampling.py      Intentionally broken DP-SGD: samplers whose claim is that of another sampler
"""
