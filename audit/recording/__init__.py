"""What a program does with its noise, compared on two neighbouring datasets: no statistics, two or a few runs.

    recorded = record(release, Neighbours(d0, d1, "add_remove"))
    recorded.findings(PureDP(1.0))        # empty, or what is wrong, in words

The program runs on `d0`, and its random primitives are recorded: their parameters, what they were fed, what they
returned. Then it runs on `d1` with the same results of the primitives. (Cebere et al. 2026.) Then the differences are:

    control flow    other primitives, or more of them: the way depends on the data, and not only on noisy values
    parameters      the scale of noise, a budget or a number of draws depends on the data
    distance        what is fed moves further than the sensitivity that the primitive was told
    no noise        a part of the output moves, and no primitive has a part in it
    spent           what the primitives give away for the distance that was measured, added up, exceeds the claim

Where noise goes is found by moving one result of a primitive and looking at the output: noise that is added to a value
moves it by a constant, and the value beneath moves between the datasets by what the outputs differ under equal noise.

A finding is a fault of construction on this pair, by the rules that proofs of privacy use; it is no proof of a leak: a
scale may depend on the data in a mechanism whose analysis allows it. So nothing here makes a verdict. And nothing found
is no proof either: only this pair and these runs were seen.

recorded.py   Recorded, Recordings, Finding: what was seen on both sides, and what is wrong with it
program.py    record: runs a program on both sides with the same noise
"""

from .program import record
from .recorded import Finding, Recorded, Recordings

__all__ = ["Finding", "Recorded", "Recordings", "record"]
