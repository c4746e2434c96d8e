"""Numerics that the kinds share.

losses.py     privacy losses of two finite distributions
polygon.py    trade-off curves that are polygons
search.py     roots of monotone functions
"""
