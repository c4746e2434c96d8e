"""Witnesses: findings without statistics, which a third party can check.

base.py            A witness: a finding without statistics, which contradicts a claim independently of the counts of
                   trials
checker.py         Check of a witness file without the rest of dpassay: copy this file, and run it with numpy and scipy
                   only
event.py           The deciding event as a rule on outputs that needs no attack, so that a third party can count it
impossible.py      The witness of outputs of one side that are impossible under the output distribution of the other
                   side
no_randomness.py   Outputs that never vary, for every seed and in every process: the function draws no randomness
"""

from .base import CERTAIN_DELTA as CERTAIN_DELTA, Witness as Witness, WitnessKind as WitnessKind
