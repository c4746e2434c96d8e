"""Intentionally broken statistics: clipping, means, medians, second moments, histograms and machine arithmetic.

arithmetic.py       Intentionally broken sums in machine arithmetic: integers that wrap, and single precision
clipping.py         Intentionally broken clipping: bounds are taken from the data, ignored, or passed by NaN
histograms.py       Intentionally broken histograms: their domain is taken from the data, or their threshold is too low
means.py            Intentionally broken means: the divisor depends on the data, or the counts of a mean are released
                    without noise
median.py           Intentionally broken median: noise for its local sensitivity
second_moments.py   Intentionally broken second moments: Wishart noise
"""
