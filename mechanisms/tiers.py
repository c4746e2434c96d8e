"""Trust tiers: how far the claim of a mechanism can be trusted before it is audited.

    proved        a mechanism of dpassay with a theorem, whose output law was derived a second time, and that is audited
    provisional   anything else: functions, adapters, classes of other packages, and a mechanism with one in its options
    broken        an intentionally broken twin, and a mechanism with one in its options

Mechanisms in the catalogue of dpassay are proved unless their class says otherwise (`_tier`); tests of the catalogue
require theorem, law and audit. A class of another package is proved if it sets `_tier = Tier.PROVED` itself;
`dpassay.testing.check_mechanism` then requires its output law.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from inspect import isroutine
from typing import Any

from .accounting.broken import Broken
from .catalogue import catalogue
from .core import DpassayError, Guarantee, Mechanism, Tier, describe

ORDER = tuple(Tier)


def tier_of_class(kind: type[Mechanism | Broken]) -> Tier:
    """Return the tier of a class: a subclass inherits that it is broken or provisional, never that it is proved."""
    declared = kind._tier
    if declared is None:
        location = f"{kind.__module__}:{kind.__qualname__}"
        ours = location.startswith("dpassay.") and location in catalogue.entries.values()
        return Tier.PROVED if ours else Tier.PROVISIONAL
    return Tier.PROVISIONAL if declared is Tier.PROVED and "_tier" not in vars(kind) else declared


def tier_of(mechanism: Mechanism, claim: Guarantee | None = None) -> Tier:
    """Return the least tier of the class of a mechanism and of its options.

    An option that is a mechanism has its own tier; functions and objects of other packages, such as queries, on whose
    sensitivity a claim relies, are provisional. So is another claim than that of the mechanism.

    Example:
        >>> from dpassay.mechanisms import Laplace
        >>> print(tier_of(Laplace(epsilon=1.0)), tier_of(Laplace(epsilon=1.0, query=max)))
        proved provisional
    """
    lowest = min(_tiers(mechanism), key=ORDER.index)
    return Tier.PROVISIONAL if lowest is Tier.PROVED and claim is not None and _replaced(mechanism, claim) else lowest


def _replaced(mechanism: Mechanism, claim: Guarantee) -> bool:
    """Return whether a claim is another one than that of the mechanism."""
    try:
        return bool(describe(mechanism.guarantee()) != describe(claim))
    except DpassayError:  # such as a composition that no theorem covers
        return True


def _tiers(value: Any) -> Iterator[Tier]:
    """Yield the tiers of a value and of the values in its fields; plain data have none."""
    package = str((value if isroutine(value) else type(value)).__module__).partition(".")[0]
    if isinstance(value, Mechanism):
        yield tier_of_class(type(value))
    elif package != "dpassay" and (callable(value) or package not in ("builtins", "numpy")):
        yield Tier.PROVISIONAL
    if package == "dpassay" and is_dataclass(value):
        for field in fields(value):
            yield from _tiers(getattr(value, field.name))
    elif isinstance(value, tuple):
        for item in value:
            yield from _tiers(item) if type(item) not in (bool, int, float, str) else ()
