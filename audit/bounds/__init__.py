"""From scores to a lower bound on epsilon: one bound a file.

base.py              Bound, LowerBound, LedgerEntry: read this first
catalogue.py         names
clopper_pearson.py   one event, at a threshold that was fixed or chosen on the pilot
simultaneous.py      all thresholds at once: the band, its curves, and the bound that reads them

binomial.py          exact limits of one rate
rectangle.py         limits on both error rates -> epsilon, delta
noncrossing.py       how often a band of limits misses
candidates.py        which of very many thresholds to look at
"""

from audit.bounds.base import Bound, LedgerEntry, LowerBound

__all__ = ["Bound", "LedgerEntry", "LowerBound"]
