"""Composition of several releases on the same data, and group privacy.

advanced.py         Advanced composition: epsilons add like standard deviations, at the cost of a larger delta
compose.py          Composition: the guarantee of several releases on the same data
grouping.py         Group privacy: the guarantee for datasets that differ in several records
laplace_vector.py   Curve of Laplace noise on a vector whose entries all differ between the sides
optimal.py          Optimal composition of equal guarantees: of (epsilon, delta)-DP, and of bounded range
"""
