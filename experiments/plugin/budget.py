"""The false alarms that a session may raise, shared out over its checks; and the seed of each.

If n selected tests use `dp_audit`, call j in any of them has the share a / n * 6 / (pi^2 j^2) of a budget a: since
1 + 1/4 + 1/9 + ... = pi^2 / 6, the calls of one test spend at most a / n, however many they are, and the session at
most a (union bound: tests may depend on each other).
"""

from __future__ import annotations

import hashlib
import math

FALSE_ALARM = 1e-6
LEAST_SHARE = 1e-14


def share(false_alarm: float, n_tests: int, call: int) -> float:
    """Significance of call number `call` (from 1) of a test: false_alarm / n_tests * 6 / (pi^2 call^2)."""
    return false_alarm / n_tests * 6.0 / (math.pi * call) ** 2


def confidence_at(significance: float) -> float:
    """The least float c with 1 - c <= significance: rounding never spends more than the share."""
    if significance < LEAST_SHARE:
        from ...mechanisms.errors import ParameterError

        raise ParameterError(
            f"this check's share of the session's false-alarm budget is {significance:.2g}, too little to compute "
            "with. Make fewer calls of dp_audit in one test (pytest.mark.parametrize), or raise --dp-false-alarm.",
            argument="--dp-false-alarm",
            value=significance,
            allowed=f"leave each check {LEAST_SHARE:g} or more",
        )
    confidence = 1.0 - significance
    return confidence if 1.0 - confidence <= significance else math.nextafter(confidence, 2.0)


def seed_of(root: int, test: str, call: int) -> int:
    """Seed of one call, in [0, 2^62): the same in every process, order and version of Python."""
    digest = hashlib.sha256(f"{root}\0{test}\0{call}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 2
