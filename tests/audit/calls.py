"""Bounds calls in one line: statement, fix and evidence, for tests that look at single numbers.

A bound that leans on a family is calls about a claim of that family, any other about one of (epsilon, delta).
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from dpassay.audit.bounds.base import FixedBound
from dpassay.audit.bounds.families import family_for, member_below
from dpassay.audit.evidence.scores import BitScores, PairCounts, PairScores, Tally
from dpassay.audit.evidence.statement import Statement
from dpassay.mechanisms.accounting import ApproximateDP, PureDP


def against(bound, claim):
    """The bound in the family of `claim`; refused as `fix` refuses it."""
    return replace(bound, curve_family=family_for(claim, bound.curve_family))


def claim_of(bound, delta, epsilon=None):
    """A claim that the bound can judge; of this epsilon, or of the last member below it."""
    family = getattr(bound, "curve_family", None)
    if family is None or isinstance(family, str):
        epsilon = 1.0 if epsilon is None else epsilon
        return ApproximateDP(epsilon, delta) if delta else PureDP(epsilon)
    return family.member(family.claimed) if epsilon is None else member_below(family, epsilon, delta)


@lru_cache(maxsize=256)
def stated(claim, delta, confidence):
    return Statement(claim, delta, confidence)


def fixed(bound, sizes, *, delta, confidence, claim=None, pilot=None):
    return bound.fix(stated(claim or claim_of(bound, delta), delta, confidence), pilot, sizes)


def prepared(bound, pilot, *, delta, confidence, n_out, n_in):
    return fixed(bound, (n_out, n_in), delta=delta, confidence=confidence, pilot=pilot)


def ready(bound, scores, *, delta, confidence, claim=None):
    """The bound fixed for these scores; one that is fixed already, if it was for this level."""
    if isinstance(bound, FixedBound):
        assert (bound.statement.delta, bound.statement.confidence) == (delta, confidence)
        return bound if claim is None else replace(bound, statement=replace(bound.statement, claim=claim))
    sizes = scores.sizes[:1] if bound.reads is BitScores else scores.sizes
    return fixed(bound, sizes, delta=delta, confidence=confidence, claim=claim)


def lower_bound(bound, scores, *, delta, confidence):
    return ready(bound, scores, delta=delta, confidence=confidence).lower_bound(scores)


def p_value(bound, scores, *, epsilon, delta):
    if isinstance(bound, FixedBound):
        claim = ApproximateDP(epsilon, delta) if delta else PureDP(epsilon)
        return replace(bound, statement=replace(bound.statement, claim=claim)).p_value(scores)
    claim = claim_of(bound, delta, epsilon)
    return fixed(bound, scores.sizes, delta=delta, confidence=0.95, claim=claim).p_value(scores)


def claim_p_value(bound, scores, claim, *, delta=0.5):
    return fixed(bound, scores.sizes, delta=delta, confidence=0.95, claim=claim).p_value(scores)


def curve_test(bound, scores, claim, *, confidence, delta=0.5):
    if isinstance(bound, FixedBound):
        return replace(bound, statement=replace(bound.statement, claim=claim)).curve_test(scores)
    return fixed(bound, scores.sizes, delta=delta, confidence=confidence, claim=claim).curve_test(scores)


def exceeds(bound, epsilon, scores, *, delta, confidence):
    claim = claim_of(bound, delta, epsilon)
    if isinstance(bound, FixedBound) and not hasattr(bound, "family"):
        return replace(bound, statement=replace(bound.statement, claim=claim)).exceeds_claim(scores)
    return ready(bound, scores, delta=delta, confidence=confidence, claim=claim).exceeds_claim(scores)


def counts(hits_out, n_out, hits_in, n_in):
    """Counts of the event {score >= 1}."""
    hits = np.array([n_out, hits_out]), np.array([n_in, hits_in])
    return PairCounts(Tally(np.array([0.0, 1.0]), *hits, n_out, n_in))


def quantiles(law_out, law_in, n):
    """Noise-free scores: `n` exact quantiles of two laws of scipy.stats."""
    ranks = (np.arange(n) + 0.5) / n
    return PairScores(law_out.ppf(ranks), law_in.ppf(ranks))


def ceiling(bound, n_out, n_in, *, delta, confidence):
    """The largest bound that this many scores, or bits, could give."""
    perfect = PairScores(np.zeros(n_out), np.ones(n_in))
    bound = replace(bound, threshold=0.5) if getattr(bound, "needs_pilot", False) else bound
    if bound.reads is BitScores:
        perfect = BitScores(np.ones((1, n_out + n_in), dtype=bool), np.ones((1, n_out + n_in)))
    return lower_bound(bound, perfect, delta=delta, confidence=confidence).ceiling


@dataclass(frozen=True)
class FixedOwn(FixedBound):
    statement: Statement
    options: object
    pilot: object

    def lower_bound(self, evidence):
        return self.options.lower_bound_at(evidence, delta=self.statement.delta, confidence=self.statement.confidence)

    def p_value(self, evidence):
        return 1.0

    def curve_test(self, evidence):
        violation = getattr(self.options, "violation", lambda *given, **options: None)
        return violation(evidence, self.statement.claim, confidence=self.statement.confidence)


class Own:
    """Bound of a class that defines only `lower_bound_at(scores, delta=..., confidence=...)`."""

    def fix(self, statement, pilot, sizes):
        return FixedOwn(statement, self, pilot)
