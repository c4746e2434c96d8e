"""Generators of synthetic data from noisy marginals, compared.

census.py            Five-marginal example: a census table measured once, and fitted by each generator
comparison.py        Measured properties of the generators: fits on a domain of eight cells, and scaling of the time
five_generators.py   Five generators of synthetic data from noisy marginals: representable distributions, errors and
                     running times
"""
