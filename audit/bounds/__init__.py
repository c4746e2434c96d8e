"""Lower bounds on epsilon from evidence, one a file.

base.py            Bound, FixedBound, LowerBound, LedgerEntry: read this first
catalogue.py       names of the bounds, and the choice of bounds by name, options or "auto"
pair/              bounds that read the scores of runs on a pair of datasets
bits/              bounds that read guesses of the bits of canaries
reconstruction.py  the bound that reads successful guesses of a secret
curve.py           the test of a whole claimed curve against limits on the error rates
families.py        one-parameter families of guarantees: the claim with more or less noise
numerics/          limits and tests, with their proofs
"""

from .base import Bound as Bound, LedgerEntry as LedgerEntry, LowerBound as LowerBound
