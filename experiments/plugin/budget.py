"""The false-alarm budget of a session, divided among its checks; and the seed of each check.

If n selected tests use `dp_audit`, call j in any of them has the share a / n * 6 / (pi^2 j^2) of a budget a: since
1 + 1/4 + 1/9 + ... = pi^2 / 6, any number of calls of one test use at most a / n, and the session at most a (union
bound: tests may depend on each other).
"""

from __future__ import annotations

import hashlib
import math

FALSE_ALARM = 1e-6
MIN_SHARE = 1e-14


def share(false_alarm: float, n_tests: int, call: int) -> float:
    """Return the significance of call `call` (from 1) of a test: false_alarm / n_tests * 6 / (pi^2 call^2)."""
    return false_alarm / n_tests * 6.0 / (math.pi * call) ** 2


def confidence_at(significance: float) -> float:
    """Return the least float c with 1 - c <= significance: rounding never exceeds the share."""
    if significance < MIN_SHARE:
        from ...mechanisms.core import ParameterError

        raise ParameterError(
            f"the share of this check in the false-alarm budget of the session is {significance:.2g}, which is too "
            "small. Make fewer calls of dp_audit in one test (pytest.mark.parametrize), or raise --dp-false-alarm.",
            argument="--dp-false-alarm",
            value=significance,
            allowed=f"leave each check {MIN_SHARE:g} or more",
        )
    confidence = 1.0 - significance
    return confidence if 1.0 - confidence <= significance else math.nextafter(confidence, 2.0)


def seed_of(root: int, test: str, call: int) -> int:
    """Return the seed of one call, in [0, 2^62): independent of process, order and version of Python."""
    digest = hashlib.sha256(f"{root}\0{test}\0{call}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 2
