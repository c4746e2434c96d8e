"""Claim of DP-SGD, and the settings for which there is none.

All noisy sums are released; a record of the batch contributes at most clip_norm to each. In units of the sensitivity
(clip_norm, or under replace_one 2 clip_norm), the noise is noise_multiplier or noise_multiplier / 2. The sampling
scheme derives the guarantee from this number.
"""

from __future__ import annotations

from dataclasses import replace

from ...accounting import GaussianDP
from ...core.errors import AccountingError
from ...core.guarantee import Guarantee
from ...core.relation import Relation
from .training import Recipe


def claim_of(recipe: Recipe, relation: Relation, *, all_seen: bool) -> Guarantee:
    """Return the guarantee of training by `recipe`.

    Args:
        recipe: the training.
        relation: the neighbouring relation.
        all_seen: whether the output determines the noisy sums along the canary: an exact claim is then attained.

    Raises:
        AccountingError: no noise, no clipping, or a sampling that has no bound under the relation.
    """
    if not recipe.noise_multiplier:
        raise AccountingError(
            "noise_multiplier is 0: training without noise has no finite epsilon. Give a noise_multiplier > 0, or a "
            "claim to audit against.",
            argument="noise_multiplier",
        )
    if recipe.clipping == "none":
        raise AccountingError(
            "clipping is 'none': one record can change the sum without limit, and no noise hides that. Use 'flat' or "
            "'per-layer', or give a claim to audit against.",
            argument="clipping",
        )
    relative = recipe.noise_multiplier / (2.0 if relation is Relation.REPLACE_ONE else 1.0)
    claim = recipe.sampling.guarantee(relative, steps=len(recipe.rates), relation=relation)
    if isinstance(claim, GaussianDP) and claim.exact and not all_seen:
        return replace(claim, exact=False)
    return claim
