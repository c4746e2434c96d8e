"""The numbers that README and docs/*.md state, measured again: `make numbers`, or `python docs/measured NAME...`.

Each entry has the sentence that states it, word for word, and what computes it. It prints both, and ends with 1 where a
sentence is gone from its page, or off by more than its digits and the noise of this many repeats allow.

stated.py         a number that a page states, and its check
of_bounds.py      what bounds show and detect
of_membership.py  membership
of_votes.py       teachers who vote, and their students
of_tables.py      synthetic tables
of_queries.py     errors of answers to many queries
of_learning.py    private fine-tuning
of_samples.py     users that each trust model needs
of_texts.py       texts of language models
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import of_bounds
import of_learning
import of_membership
import of_queries
import of_samples
import of_tables
import of_texts
import of_votes
from stated import check

NUMBERS = (
    *of_membership.NUMBERS,
    *of_bounds.NUMBERS,
    *of_votes.NUMBERS,
    *of_tables.NUMBERS,
    *of_queries.NUMBERS,
    *of_samples.NUMBERS,
    *of_learning.NUMBERS,
    *of_texts.NUMBERS,
)
"""The rest is computed where it stands: snippets print what they say, and the tests run them."""


def main(names: Sequence[str]) -> int:
    """Measures the numbers of these names, or all; 1 if one is off."""
    known = {number.name: number for number in NUMBERS}
    unknown = sorted(set(names) - set(known))
    if unknown:
        sys.stderr.write(f"unknown: {', '.join(unknown)}. Known: {', '.join(known)}\n")
        return 2
    right = [check(known[name]) for name in names or known]
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
