"""Evaluation of membership attacks: many attacks on the same shadow models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import is_dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....attacks.membership.base import MembershipAttack
from ....attacks.membership.catalogue import catalogue
from ....attacks.membership.shadows import Shadows
from ....mechanisms.core.arrays import Floats
from ....mechanisms.core.errors import AttackError, ParameterError
from ....mechanisms.core.guarantee import Guarantee
from ....mechanisms.core.printable import display_name
from ....mechanisms.core.validation import open_unit
from ...evidence.statement import check_claim
from ...games.training import person_of
from .feature_baseline import FeatureBaseline, feature_baseline
from .persons import scores_of_persons, shadows_of_persons
from .records import FEWEST, group_rows, record_table
from .result import AttackMetrics, MembershipResult, Region
from .roc import Pooled

RATES = (0.1, 0.01, 0.001, 0.0001)
BY_CHANCE = 60
"""Number of records from which on models trained on complements are not a coincidence."""
RECORDS_AT = 0.01
"""False positive rate of the threshold for the table of records."""


def evaluate(
    shadows: Shadows,
    attacks: str | MembershipAttack | Sequence[str | MembershipAttack] | None = None,
    *,
    groups: Any = None,
    persons: Any = None,
    claim: Guarantee | None = None,
    confidence: float = 0.95,
    features: bool = True,
) -> MembershipResult:
    """Score every model and record by every attack, and measure how much membership the scores leak.

    The metrics are not bounds: they average over models and records, and their thresholds are chosen on the evaluated
    scores. For a bound on epsilon see `dpassay.audit.games.canaries`.

    Args:
        shadows: models and their signals; from `train_shadows`, or of one model with a natural split.
        attacks: names or attacks; None for all attacks of the catalogue that these shadows allow (the others are listed
            in `skipped`, with the reason).
        groups: `(n_records,)` names of the groups that get a separate row; None for none.
        persons: `(n_records,)` names of the person of each record: a score, a rate and a test are then about a person,
            all of whose records are in a model, or none; None for records.
        claim: the guarantee of the accountant, drawn as the region that no attack may enter.
        confidence: of each interval.
        features: whether to measure how well the features alone separate members from non-members; needs `shadows.X`.

    Raises:
        AttackError: a listed attack cannot be used.
        ParameterError: no attack, or an object that is not an attack; `groups` of the wrong length, or members only;
            persons with some of their records in a model;
            models trained on complements that `shadows.partner` does not name.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> inclusion = rng.random((16, 200)) < 0.5
        >>> shadows = Shadows(inclusion, np.zeros(200), {"loss": rng.normal(size=(16, 200)) + inclusion})
        >>> result = evaluate(shadows, ["loss", "calibration"])
        >>> round(result["loss"].auc, 2)
        0.76
    """
    open_unit(confidence=confidence)
    if claim is not None:
        check_claim(claim)
    names = None if groups is None else np.asarray(groups).astype(str)
    if names is not None and names.shape != (shadows.n_records,):
        raise ParameterError(
            f"groups must be one name a record, ({shadows.n_records},), but has shape {names.shape}.", argument="groups"
        )
    _check_complements(shadows)
    units, index = shadows, None
    if persons is not None:
        if names is not None:
            raise ParameterError("groups are of records, and persons replace them. Give one.", argument="groups")
        index, people = person_of(persons, shadows.n_records)
        units = shadows_of_persons(shadows, index, people)
    metrics, skipped = [], []
    for attack in _attacks(attacks):
        try:
            scores = attack.score(shadows)
        except AttackError as error:
            if attacks is not None:
                raise
            skipped.append((attack.name, str(error)))
            continue
        alone = attack.minimum_references == 0
        held_out = None if alone or shadows.paired else held_out_scores(attack, shadows)
        if index is not None:
            scores = scores_of_persons(scores, index, additive=attack.additive)
            held_out = None if held_out is None else scores_of_persons(held_out, index, additive=attack.additive)
        metrics.append(
            measure(
                name_of(attack),
                scores,
                units,
                groups=names,
                confidence=confidence,
                alone=alone,
                pair_weight=0.5 if attack.learns_each_record else 1.0,
                held_out=held_out,
            )
        )
    return MembershipResult(
        attacks=tuple(metrics),
        n_models=len(shadows),
        n_records=units.n_records,
        design=_design(shadows) + ("" if index is None else "; each person with all records, scored as one"),
        confidence=confidence,
        feature_baseline=_feature_baseline(shadows, confidence) if features else None,
        skipped=tuple(skipped),
        region=None if claim is None else _region(claim),
    )


def measure(
    name: str,
    scores: Floats,
    shadows: Shadows,
    *,
    groups: NDArray[np.str_] | None = None,
    confidence: float = 0.95,
    alone: bool = False,
    pair_weight: float = 1.0,
    held_out: Floats | None = None,
) -> AttackMetrics:
    """Compute the metrics of one attack from its scores, `(n_models, n_records)`, NaN where a score is missing.

    `alone`: whether each score depends on one model only, without the others as references. `pair_weight`: see
    `record_table`. `held_out`: scores for the table of records, if `scores` of different models share references; see
    `held_out_scores`.
    """
    pooled = Pooled.of(
        scores, shadows.inclusion, shadows.partners, entangled=len(shadows) > 1 and not (alone or shadows.paired)
    )
    auc_lower, auc_upper = pooled.auc_interval(confidence)
    above = pooled.scores > pooled.threshold_at(0.1)
    table, compared = None, held_out if pooled.entangled else scores
    if len(shadows) >= FEWEST and compared is not None:
        table = record_table(
            compared,
            shadows.inclusion,
            threshold=Pooled.of(compared, shadows.inclusion).threshold_at(RECORDS_AT),
            fpr=RECORDS_AT,
            confidence=confidence,
            partners=shadows.partners if shadows.paired else None,
            alone=alone,
            pair_weight=pair_weight,
        )
        table = replace(table, n_references=len(shadows) // 2 if pooled.entangled else 0)
    return AttackMetrics(
        attack=name,
        auc=pooled.auc,
        auc_lower=auc_lower,
        auc_upper=auc_upper,
        rates=tuple(pooled.rate_at(fpr, confidence) for fpr in RATES),
        advantage=pooled.best()[0],
        held_out_advantage=pooled.held_out_advantage(),
        n_in=pooled.n_in,
        n_out=pooled.n_out,
        n_missing=int(np.isnan(scores).sum()),
        design_effect=pooled.design_effect(above, pooled.member),
        tally=pooled.tally(),
        records=table,
        groups=() if groups is None else group_rows(pooled, groups, fpr=RECORDS_AT, confidence=confidence),
    )


def held_out_scores(attack: MembershipAttack, shadows: Shadows) -> Floats | None:
    """Return scores of the second half of the models, with the first half as references; NaN for the first half.

    Scores of one record are then those of one function of the target, fixed by models that are not compared. None if
    fewer than `FEWEST` models are left to compare, or too few references for the attack.
    """
    half = len(shadows) // 2
    if half < FEWEST:
        return None
    scores = np.full(shadows.inclusion.shape, np.nan)
    try:
        for target in range(half, len(shadows)):
            scores[target] = attack.score(shadows.take([*range(half), target]))[-1]
    except AttackError:
        return None
    return scores


def name_of(attack: MembershipAttack) -> str:
    """Return the display name: "lira", "lira on density" for another signal, "lira(variance='record')"."""
    default, signal = getattr(type(attack), "signal", None), getattr(attack, "signal", None)
    name, without_signal = attack.name, attack
    if signal != default and is_dataclass(attack):
        name, without_signal = attack.on(str(signal)), replace(attack, signal=default)
    options = display_name(without_signal).partition("(")[2]
    return name if options in ("", ")") else f"{name}({options}"


def _attacks(attacks: str | MembershipAttack | Sequence[str | MembershipAttack] | None) -> list[MembershipAttack]:
    if attacks is None:
        return [catalogue.build(name) for name in catalogue.entries]
    listed: Any = list(attacks) if isinstance(attacks, (list, tuple)) else [attacks]
    if not listed:
        raise ParameterError(
            "attacks must name at least one attack, but is empty. Leave it out for all of them.", argument="attacks"
        )
    built = [catalogue.build(attack) if isinstance(attack, str) else attack for attack in listed]
    for attack in built:
        if not isinstance(attack, MembershipAttack):
            raise ParameterError(
                f"attacks must hold names ({', '.join(catalogue)}) or membership attacks, but hold {attack!r}.",
                argument="attacks",
            )
    return built


def _check_complements(shadows: Shadows) -> None:
    """Raise `ParameterError` if two models without partners are complements of each other: not a coincidence."""
    if shadows.paired or shadows.n_records < BY_CHANCE:
        return
    signed = np.where(shadows.inclusion, 1.0, -1.0)
    pairs = np.argwhere(np.triu(signed @ signed.T <= -shadows.n_records))
    if len(pairs):
        first, second = pairs[0]
        raise ParameterError(
            f"models {first} and {second} are trained on complements of each other's records, and would count as "
            "independent. Name the complement of each: Shadows(..., partner=np.arange(n_models) ^ 1), where 2k and "
            "2k + 1 are a pair.",
            argument="partner",
        )


def _design(shadows: Shadows) -> str:
    if shadows.paired:
        return "pairs of models trained on complementary halves, each scored by the others"
    if shadows.fair:
        return "each record in each model by an independent fair coin, each model scored by the others"
    return "supplied by the user: not known to be drawn by fair coins"


def _feature_baseline(shadows: Shadows, confidence: float) -> FeatureBaseline | None:
    """Return the feature baseline of the first model in a natural split; None with fair coins, which need none."""
    if shadows.X is None or shadows.fair:
        return None
    member = shadows.inclusion[0]
    if min(member.sum(), (~member).sum()) < 10:
        return None
    return feature_baseline(shadows.X, member, y=shadows.y, confidence=confidence)


def _region(claim: Guarantee) -> Region:
    fpr = np.unique(np.concatenate([np.geomspace(1e-6, 0.5, 80), np.linspace(0.0, 1.0, 41)]))
    tpr = 1.0 - np.asarray(claim.tradeoff(fpr))
    return Region(display_name(claim), tuple(fpr.tolist()), tuple(tpr.tolist()))
