"""Numerics that the kinds share.

binomial.py   probabilities of the binomial distribution
losses.py     privacy losses of two finite distributions
polygon.py    trade-off curves that are polygons
search.py     roots of monotone functions
"""
