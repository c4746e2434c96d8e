"""Generators of synthetic data from noisy marginals, compared.

census.py            five marginals of a census, and the fit of each generator; the demo five-marginals uses them
comparison.py        representable distributions on eight cells, and running times
five_generators.py   the demo
"""
