"""Numerics of the bounds: exact, and each with its proof.

binomial.py         limits and quantiles of binomial rates
rectangle.py        limits on both error rates, and the bounds that follow
unconditional.py    the exact test of two counts, turned into a bound on epsilon
event_region.py     which trade-off curves two counts contradict
noncrossing.py      how often a band of binomial limits misses
paired.py           limits of the difference of two success rates on the same rounds
bounded_mean.py     limits of a mean of numbers in [0, 1], by betting
test_martingale.py  the test martingale: the wealth of one who bets against the claim
"""
