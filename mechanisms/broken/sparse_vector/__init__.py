"""Sparse vector techniques that are wrong on purpose: one slip each, the claim that it makes, and what it really is.

no_query_noise.py       the queries get no noise
no_stop.py              all queries are answered, however many are above
noise_without_count.py  noise that does not grow with the number of answers above
side_by_side.py         two broken ones on the same queries
tested_value.py         the very value that was compared is released
"""

from .no_query_noise import NoQueryNoise as NoQueryNoise
from .no_stop import NeverStops as NeverStops
from .noise_without_count import NoiseWithoutCount as NoiseWithoutCount
from .side_by_side import TwoBrokenSparseVectors as TwoBrokenSparseVectors
from .tested_value import ReleasesTestedValue as ReleasesTestedValue
