"""Demos on synthetic data.

generators/          Generators of synthetic data from noisy marginals, compared
which_marginals.py   Privacy loss of one person in each noisy marginal of MST, and in its selection of pairs
"""
