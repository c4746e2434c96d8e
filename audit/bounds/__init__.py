"""From evidence to a lower bound on epsilon: one bound a file.

base.py              Bound, FixedBound, LowerBound, LedgerEntry: read this first
catalogue.py         names
choose.py            which bounds are meant: names, options, "auto"
pair/                of runs on a pair of datasets
bits/                of canaries that were in or out
reconstruction.py    of guesses of a secret
curve.py             a whole claimed curve against limits
families.py          the claim, and what it would be with more or less noise
numerics/            limits, tests and their proofs
"""

from .base import Bound as Bound, LedgerEntry as LedgerEntry, LowerBound as LowerBound
