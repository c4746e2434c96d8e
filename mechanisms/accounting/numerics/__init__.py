"""Numerics that the kinds share.

binomial.py   probabilities of the binomial distribution
losses.py     privacy losses of two finite distributions
polygon.py    trade-off curves that are polygons
search.py     roots of monotone functions
renyi.py             Conversion from Renyi divergences to (epsilon, delta), one order at a time
sampled_gaussian.py  Renyi divergence of Gaussian noise on a Poisson sample of the records, at any order
"""
