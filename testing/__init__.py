"""Conformance checks for mechanisms, attacks, bounds and canaries of other packages, and of this one.

attacks.py       What every attack on a pair keeps: higher score = side 1, run by run, from pilot runs and rng alone
bounds.py        What every bound on pair or bit scores keeps: measured coverage, nested levels, and a number where
                 nothing leaks
canaries.py      What every canary keeps: one record differs, at its place, and data that do not fit are refused by name
conformance.py   Conformance checks: functions that raise an `AssertionError` with the problem and what to do
mechanisms.py    What every mechanism keeps: options, pair, runs, densities and claim agree with each other
"""

from .attacks import ATTACK_CHECKS as ATTACK_CHECKS, AttackCase as AttackCase, check_attack as check_attack
from .bounds import BOUND_CHECKS as BOUND_CHECKS, BoundCase as BoundCase, check_bound as check_bound
from .canaries import CANARY_CHECKS as CANARY_CHECKS, CanaryCase as CanaryCase, check_canary as check_canary
from .conformance import ConformanceError as ConformanceError
from .mechanisms import (
    MECHANISM_CHECKS as MECHANISM_CHECKS,
    MechanismCase as MechanismCase,
    check_mechanism as check_mechanism,
    sample as sample,
)
