"""Several releases on the same data, several records that differ, and secret samples of the records.

compose.py        compose                  several releases on the same data
advanced.py       AdvancedComposition      what compose(..., accounting="advanced") returns
optimal.py        OptimalComposition       what compose(..., accounting="optimal") returns
bounded_range.py  BoundedRangeComposition  the same, of guarantees of bounded range
grouping.py       group                    several records differ
laplace_vector.py    Curve of Laplace noise on a vector whose entries all differ between the sides
self_composition.py  The exact curve of several independent releases with the same exact curve
"""
