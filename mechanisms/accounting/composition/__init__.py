"""Composition of several releases on the same data, and group privacy.

compose.py         compose, by any accounting; self_composed, the exact curve of equal releases
advanced.py        AdvancedComposition: the result of compose(..., accounting="advanced")
optimal.py         OptimalComposition, BoundedRangeComposition: the results of compose(..., accounting="optimal")
laplace_vector.py  LaplaceVectorDP: Laplace noise on a vector whose entries all differ between the sides
grouping.py        group: the guarantee for datasets that differ in several records
"""
