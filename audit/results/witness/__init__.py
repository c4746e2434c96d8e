"""Witnesses: findings without statistics, which a third party can check.

base.py           Witness, and the JSON form of its datasets
impossible.py     outputs of one side that the other side never gives
no_randomness.py  outputs that never vary, in fresh interpreters either
event.py          EventRule: the deciding event as a rule on outputs
checker.py        a program that checks a witness file; can be copied and run without this package
"""

from .base import CERTAIN as CERTAIN, Kind as Kind, Witness as Witness
