"""From scores to a lower bound on epsilon: one bound a file.

base.py              Bound, LowerBound, LedgerEntry: read this first
catalogue.py         names
clopper_pearson.py   one event, at a threshold that was fixed or chosen on the pilot
simultaneous.py      all thresholds at once: the band, its curves, and the bound that reads them
one_run.py           fair bits guessed from one run or many, for every (epsilon, delta) mechanism
one_run_fdp.py       the same for a family of trade-off curves

binomial.py          exact limits of one rate
rectangle.py         limits on both error rates -> epsilon, delta
noncrossing.py       how often a band of limits misses
guessing.py          which bits are guessed, and how many guesses are right
candidates.py        which of very many thresholds to look at
"""

from .base import Bound, LedgerEntry, LowerBound

__all__ = ["Bound", "LedgerEntry", "LowerBound"]
