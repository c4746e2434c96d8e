"""Lower bounds on epsilon from evidence, one a file.

base.py             The interface of a lower bound on epsilon: read this first
bits/               Bounds that read the bits of runs with many canaries, each included by a coin toss
catalogue.py        Names of the bounds, and the choice among them by name, by options or "auto"
curve.py            The test of a whole claimed curve against rectangles of limits on the error rates
families.py         One-parameter families of guarantees: the claim, and the same guarantee with more or less noise
numerics/           Numerics of the bounds: exact, and each with its proof
pair/               Bounds that read the scores of runs on a pair of datasets
reconstruction.py   The bound from reconstruction: the success rate of guesses of a secret, with and without the output
"""

from .base import Bound as Bound, LedgerEntry as LedgerEntry, LowerBound as LowerBound
