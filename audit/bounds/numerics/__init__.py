"""Numerics of the bounds: exact, and each with its proof.

binomial.py        Exact one-sided limits of a binomial rate, and its quantiles, accurate far into the tails
bounded_mean.py    Limits of the mean of numbers in [0, 1], without further assumptions
event_region.py    An exact joint test of trade-off curves from the two counts of one event, independent of any family
martingale.py      A test martingale against "(epsilon, delta)-DP" with bets on a sequence of events
noncrossing.py     Exact miss probability of a band of binomial limits: the crossing probability of uniform order
                   statistics
paired.py          Limits of a paired difference of two success rates on the same rounds
rectangle.py       A rectangle of confidence limits on the two error rates, and the lower bounds that follow from it
unconditional.py   The exact unconditional test of p <= e^epsilon q + delta from two binomial counts, turned into a
                   bound on epsilon
"""
