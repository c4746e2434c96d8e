"""The ways to make synthetic data of noisy marginals, against each other.

comparison.py        what each can and cannot do, measured on eight cells; what time grows with
five_generators.py   the lecture
five_marginals.py    five marginals of a census, explained by each
"""
