"""The ways to make synthetic data of noisy marginals, against each other.

census.py            five marginals of a census, explained by each; the demo five-marginals reads them here too
comparison.py        what each can and cannot do, measured on eight cells; what time grows with
five_generators.py   the demo
"""
