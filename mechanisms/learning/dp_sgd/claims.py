"""What theory promises of DP-SGD, or why it promises nothing.

Seen are all noisy sums, in each of which a record of the batch counts at most clip_norm. In units of the sensitivity,
clip_norm or under replace_one twice that, the noise is noise_multiplier or noise_multiplier / 2. What follows from it
is for the sampling scheme to say.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from ...errors import AccountingError
from ...guarantees import GaussianDP
from ...guarantees.base import Guarantee
from ...relation import Relation
from .sampling import Sampling


class Accounted(Protocol):
    """What the guarantee depends on."""

    @property
    def relation(self) -> Relation: ...
    @property
    def steps(self) -> int: ...
    @property
    def noise_multiplier(self) -> float: ...
    @property
    def clipping(self) -> str: ...
    @property
    def scheme(self) -> Sampling: ...
    @property
    def shows_all(self) -> bool: ...


def claim_of(mechanism: Accounted) -> Guarantee:
    """The guarantee of `mechanism`; raises `AccountingError` where there is none."""
    if not mechanism.noise_multiplier:
        raise AccountingError(
            "noise_multiplier is 0: training without noise has no finite epsilon. Give a noise_multiplier > 0, or a "
            "claim of your own to audit against."
        )
    if mechanism.clipping == "none":
        raise AccountingError(
            "clipping is 'none': one record can move the sum without limit, and no noise hides that. Use 'flat' or "
            "'per-layer', or give a claim of your own to audit against."
        )
    relative = mechanism.noise_multiplier / (2.0 if mechanism.relation is Relation.REPLACE_ONE else 1.0)
    claim = mechanism.scheme.guarantee(relative, steps=mechanism.steps, relation=mechanism.relation)
    if isinstance(claim, GaussianDP) and claim.exact and not mechanism.shows_all:
        return replace(claim, exact=False)
    return claim
