"""The terms that results print, each with its meaning: pages show those that occur in them."""

from __future__ import annotations

from collections.abc import Iterable

from ...audit.results.result_text import Row, Tone

TERMS = {
    "recovered": "the share of secrets that the attack guessed correctly, with its exact confidence interval.",
    "at most": "the largest share that any attack guesses correctly if the claim is true.",
    "claim": "the epsilon under test: if the claim is true, the true epsilon is at most this.",
    "epsilon >=": "a lower confidence bound on the true epsilon: it exceeds the true epsilon with probability at most "
    "1 - confidence. The true epsilon may be much larger: a low bound may mean good privacy, a weak attack, or few "
    "trials.",
    "epsilon >=, if in the family": "a bound that assumes a family of trade-off curves: it is valid if the true curve "
    "belongs to it.",
    "bound / claim": "the ratio of lower bound and claim, rounded down.",
    "exact": "the true epsilon of this pair of datasets, where it can be computed.",
    "ceiling": "the largest lower bound that this number of trials could give, with an attack that makes no errors.",
    "detectable": "the smallest true epsilon that the best attack detects 9 times in 10, if the true curve belongs to "
    "the family of the claim. A true epsilon between the claim and this value may remain undetected.",
    "p-value": "an upper bound on the probability of evidence at least this strong if the claim is true.",
    "corrected p": "the p-value, corrected for the number of claims that were tested (Holm).",
    "AUC": "the probability that a member has a higher score than a non-member; 0.5 for guessing.",
    "advantage": "true positive rate less false positive rate at the best threshold.",
    "held out": "the advantage at a threshold that was chosen on other scores.",
    "exposed": "the number of records whose scores reveal their membership, corrected for all records (Holm).",
    "holdout": "records that the table was not made of, split off at random before it was made.",
    "leaked": "the share of the real records about which the attack is right because the table was made of them.",
}
"""Term -> meaning."""
TONES: dict[Tone, str] = {
    Tone.VIOLATION: "the claim is refuted, with the stated confidence",
    Tone.CONSISTENT: "the claim is not refuted, which is not a proof of it",
    Tone.WEAK: "the claim is not refuted, but only a true epsilon above 1.5 claims would have been detected reliably",
    Tone.UNDERPOWERED: "no outcome of this number of trials could have refuted the claim",
    Tone.DEPENDENT: "the trials are not independent, and no bound holds",
}
"""Tone of a verdict -> meaning."""


def terms_in(names: Iterable[str]) -> list[Row]:
    """Return the terms among names of columns and facts, with their meanings."""
    present = set(names)
    return [(term, meaning) for term, meaning in TERMS.items() if term in present]


__all__ = ["TERMS", "TONES", "terms_in"]
