"""Random primitives of a program, compared on two neighbouring datasets: no statistics, a few runs.

    recorded = record(release, Neighbours(d0, d1, "add_remove"))
    recorded.findings(PureDP(1.0))        # empty, or the findings in words

The program runs on `d0`, and its random primitives are recorded: their parameters, inputs and results,
and the values that their noise was added to. Then it runs on `d1` with the same *noisy values*: noise that is added to
data is moved by as much as the data move. (Cebere et al. 2026; Zhang and Kifer 2017.) So everything that is computed
from noisy values is the same on both sides: ratios, logarithms, sorting, branches, draws with noisy parameters. Then
the differences are:

    control flow    other primitives, or more of them: a branch depends on the data, and not only on noisy values
    parameters      the scale of noise, a factor of it, a budget or a number of draws depends on the data
    distance        a value under noise is no number on one side, or moves further than the declared sensitivity
    no noise        a part of the output differs although every noisy value is the same
    spent           the composed privacy loss of the primitives, at the distances between the sides, exceeds the claim

Noise is followed while numbers and arrays are added to it and it is multiplied by them. A difference that other uses of
noise may hide (`float(noise)`, coins of randomised response, sampling) is not reported, and the privacy loss is then
unknown.

A finding is a fault of construction on this pair, by the rules that proofs of privacy use. It is no proof of a leak: a
scale may depend on the data in a mechanism whose analysis allows it. So findings make no verdict. The absence of
findings is no proof either: only this pair and these runs were recorded.

leaves.py     Comparison of two outputs of a program as lists of their parts, numbers and others
program.py    Recording of a program on both sides of a pair with the same noisy values
recorded.py   Recordings of a program on both sides of a pair, and their findings
"""

from .program import record as record
from .recorded import Finding as Finding, Recorded as Recorded, Recordings as Recordings
