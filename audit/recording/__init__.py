"""What a program does with its noise, compared on two neighbouring datasets: no statistics, a few runs.

    recorded = record(release, Neighbours(d0, d1, "add_remove"))
    recorded.findings(PureDP(1.0))        # empty, or what is wrong, in words

The program runs on `d0`, and its random primitives are recorded: their parameters, what they were fed, what they
returned, and what their noise was added to. Then it runs on `d1` with the same *noisy values*: noise that is added to
data is moved by as much as the data move. (Cebere et al. 2026; Zhang and Kifer 2017.) So everything that is computed
from noisy values is the same on both sides: ratios, logarithms, sorting, branches, draws with noisy parameters. Then
the differences are:

    control flow    other primitives, or more of them: the way depends on the data, and not only on noisy values
    parameters      the scale of noise, a factor of it, a budget or a number of draws depends on the data
    distance        what is noised is no number on one side, or moves further than the sensitivity that was told
    no noise        a part of the output differs although every noisy value is the same
    spent           what the primitives give away for the distances that noise was moved, composed, exceeds the claim

Noise is followed while numbers and arrays are added to it and it is multiplied by them. A difference that other uses of
noise may hide (`float(noise)`, coins of randomised response, sampling) is not reported, and what is spent is then not
known.

A finding is a fault of construction on this pair, by the rules that proofs of privacy use; it is no proof of a leak: a
scale may depend on the data in a mechanism whose analysis allows it. So nothing here makes a verdict. And nothing found
is no proof either: only this pair and these runs were seen.

leaves.py     the output as a list of its parts
recorded.py   Recorded, Recordings, Finding: what was seen on both sides, and what is wrong with it
program.py    record: runs a program on both sides with the same noisy values
"""

from .program import record as record
from .recorded import Finding as Finding, Recorded as Recorded, Recordings as Recordings
