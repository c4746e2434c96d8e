"""Evaluation of membership attacks: many attacks on the same shadow models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import is_dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....attacks.membership.base import MembershipAttack
from ....attacks.membership.catalogue import catalogue
from ....attacks.membership.consistency import consistency_warnings
from ....attacks.membership.designs import Design, form_for, offline_form, possible_targets
from ....attacks.membership.shadows import Shadows
from ....mechanisms.core import AttackError, Bools, Floats, Guarantee, Ints, ParameterError, display_name, open_unit
from ...evidence.statement import check_claim
from ...games.training import person_of
from .feature_baseline import FeatureBaseline, blind_baseline
from .models import model_rows, odd_models
from .persons import scores_of_persons, shadows_of_persons
from .records import MIN_MODELS_FOR_RECORDS, group_rows, record_table
from .result import AttackMetrics, ExposedMember, MembershipResult, Region
from .roc import Pooled

FALSE_POSITIVE_RATES = (0.1, 0.01, 0.001, 0.0001)
MIN_COMPLEMENT_RECORDS = 60
"""Number of records from which on models trained on complements are not a coincidence."""
MAX_EXPOSED = 10
"""Number of members of one model that are listed, those with the highest scores."""
RECORDS_FPR = 0.01
"""False positive rate of the threshold for the table of records."""


def evaluate(
    shadows: Shadows,
    attacks: str | MembershipAttack | Sequence[str | MembershipAttack] | None = None,
    *,
    target: int | str | None = None,
    models: Any = None,
    per_model: bool = False,
    groups: Any = None,
    persons: Any = None,
    claim: Guarantee | None = None,
    confidence: float = 0.95,
    features: bool = True,
) -> MembershipResult:
    """Score models and records by every attack, and measure how much membership the scores leak.

    Without a target every model is the target in turn, and the metrics are means over models. That is right for models
    of one training procedure, and wrong for a question about a single model: name it. The others are then references
    only, and the metrics and their intervals are about this model and records like these, given the references.

    The metrics are not bounds: they average over models and records, and their thresholds are chosen on the evaluated
    scores. For a bound on epsilon see `dpassay.audit.games.canaries`.

    Args:
        shadows: models and their signals; from `train_shadows`, or of one model with a natural split.
        attacks: names or attacks; None for all attacks of the catalogue that these shadows allow (the others are listed
            in `skipped`, with the reason). An attack given by its name takes the form that the references allow, such
            as LiRA offline where they saw none of the records; one given as an object is used as it is, or refused.
            For a named target, attacks by name are added in their offline mode, since online modes assume that the
            references leak as the target does.
        target: the audited model, by index or by name; None for all in turn. If a single model has both members and
            non-members, it is the target.
        models: `(n_models,)` names of the models; None for their numbers, from 0 on.
        per_model: whether to add the metrics of each model, `AttackMetrics.models`.
        groups: `(n_records,)` names of the groups that get a separate row; None for none.
        persons: `(n_records,)` names of the person of each record: a score, a rate and a test are then about a person,
            all of whose records are in a model, or none; None for records.
        claim: the guarantee of the accountant, drawn as the region that no attack may enter.
        confidence: of each interval.
        features: whether to measure how well the records alone separate members from non-members, without the target:
            from `shadows.X`, or from references that saw none of the records.

    Raises:
        AttackError: a listed attack cannot be used.
        ParameterError: a target that is no model, or has only members or only non-members; no attack, or an object that
            is not an attack; `groups` of the wrong length, or members only;
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
    if target is None:
        _check_complements(shadows)
    labels = _model_names(models, len(shadows))
    targets = targets_of(target, shadows, labels)
    single = len(targets) == 1 and len(shadows) > 1
    design = Design.of(shadows, targets)
    units, index = shadows, None
    if persons is not None:
        if names is not None:
            raise ParameterError("groups are of records, and persons replace them. Give one.", argument="groups")
        index, people = person_of(persons, shadows.n_records)
        units = shadows_of_persons(shadows, index, people)
    units = units if len(targets) == len(shadows) else units.take(targets)
    names_in = [labels[t] for t in targets]
    metrics, by_model, skipped = [], [], []
    unequal: dict[str, str] = {}
    listed = _attacks(attacks, shadows, design)
    if single:
        by_name = [a for a in listed if attacks is None or a not in _as_list(attacks)]
        listed += [form for form in map(offline_form, by_name) if form is not None and design.problem(form) is None]
    for attack in listed:
        try:
            if (problem := design.problem(attack)) is not None:
                raise AttackError(problem)
            scores = attack.score(shadows)[targets]
        except AttackError as error:
            if attacks is not None:
                raise
            skipped.append((attack.name, str(error)))
            continue
        alone = attack.minimum_references == 0
        whole = len(targets) == len(shadows)
        held_out = None if alone or shadows.paired or not whole else _held_out_scores(attack, shadows)
        if attack.references == "out" and design.unequal is not None:
            unequal[name_of(attack)] = design.unequal
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
        by_model.append(scores)
        if per_model:
            metrics[-1] = replace(metrics[-1], models=model_rows(scores, units, names_in, confidence=confidence))
    warnings = [f"{', '.join(unequal)}: {next(iter(unequal.values()))}"] if unequal else []
    result = MembershipResult(
        attacks=tuple(metrics),
        n_models=len(shadows),
        n_records=units.n_records,
        design=_design(shadows, labels[targets[0]] if single else None)
        + ("" if index is None else "; each person with all records, scored as one"),
        confidence=confidence,
        feature_baseline=_feature_baseline(shadows, int(targets[0]), confidence, design) if features else None,
        skipped=tuple(skipped),
        region=None if claim is None else _region(claim),
        target=labels[targets[0]] if single else None,
        warnings=(
            *shadows.warnings,
            *consistency_warnings(shadows),
            *warnings,
            *odd_models([m.attack for m in metrics], by_model, units.inclusion, names_in),
        ),
    )
    if len(targets) > 1 or index is not None or not metrics:
        return result
    place = metrics.index(result.headline)
    exposed = _most_exposed(result.headline.attack, by_model[place][0], units.inclusion[0])
    return replace(result, most_exposed=exposed)


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
    `_held_out_scores`.
    """
    pooled = Pooled.of(
        scores, shadows.inclusion, shadows.partners, entangled=len(shadows) > 1 and not (alone or shadows.paired)
    )
    auc_lower, auc_upper = pooled.auc_interval(confidence)
    above = pooled.scores > pooled.threshold_at(0.1)
    table, compared = None, held_out if pooled.entangled else scores
    if len(shadows) >= MIN_MODELS_FOR_RECORDS and compared is not None:
        table = record_table(
            compared,
            shadows.inclusion,
            threshold=Pooled.of(compared, shadows.inclusion).threshold_at(RECORDS_FPR),
            fpr=RECORDS_FPR,
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
        rates=tuple(pooled.rate_at(fpr, confidence) for fpr in FALSE_POSITIVE_RATES),
        advantage=pooled.best()[0],
        held_out_advantage=pooled.held_out_advantage(),
        n_in=pooled.n_in,
        n_out=pooled.n_out,
        n_missing=int(np.isnan(scores).sum()),
        design_effect=pooled.design_effect(above, pooled.member),
        tally=pooled.tally(),
        records=table,
        groups=() if groups is None else group_rows(pooled, groups, fpr=RECORDS_FPR, confidence=confidence),
    )


def _held_out_scores(attack: MembershipAttack, shadows: Shadows) -> Floats | None:
    """Return scores of the second half of the models, with the first half as references; NaN for the first half.

    Scores of one record are then those of one function of the target, fixed by models that are not compared. None if
    fewer than `MIN_MODELS_FOR_RECORDS` models are left to compare, or too few references for the attack.
    """
    half = len(shadows) // 2
    if half < MIN_MODELS_FOR_RECORDS:
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


def _as_list(attacks: Any) -> list[Any]:
    return list(attacks) if isinstance(attacks, (list, tuple)) else [attacks]


def _model_names(models: Any, n_models: int) -> list[str]:
    names = [str(name) for name in (range(n_models) if models is None else models)]
    if len(names) != n_models or len(set(names)) < n_models:
        raise ParameterError(
            f"models must be {n_models} different names, one a model, but are {len(set(names))} different of "
            f"{len(names)}.",
            argument="models",
        )
    return names


def targets_of(target: int | str | None, shadows: Shadows, names: Sequence[str]) -> Ints:
    """Return the models to score: the named one, or all that can be targets; raise `ParameterError` on another name."""
    if target is None:
        return possible_targets(shadows.inclusion)
    if str(target) not in names:
        raise ParameterError(
            f"target must be one of the {len(names)} models, {names[0]} to {names[-1]}, but is {str(target)[:100]!r}.",
            argument="target",
        )
    place = list(names).index(str(target))
    inside = int(shadows.inclusion[place].sum())
    if inside in (0, shadows.n_records):
        raise ParameterError(
            f"target must be a model with members and non-members among the records, but model {names[place]!r} saw "
            f"{'all' if inside else 'none'} of them. Score records that it did {'not see' if inside else 'see'} too.",
            argument="target",
        )
    return np.array([place])


def _attacks(
    attacks: str | MembershipAttack | Sequence[str | MembershipAttack] | None, shadows: Shadows, design: Design
) -> list[MembershipAttack]:
    """Return the attacks; those given by name in the form that suits signals and design."""
    if attacks is None:
        return [form_for(catalogue.build(name), shadows, design) for name in catalogue.usable()]
    listed = _as_list(attacks)
    if not listed:
        raise ParameterError(
            "attacks must name at least one attack, but is empty. Leave it out for all of them.", argument="attacks"
        )
    built = [
        form_for(catalogue.build(attack), shadows, design) if isinstance(attack, str) else attack for attack in listed
    ]
    for attack in built:
        if not isinstance(attack, MembershipAttack):
            raise ParameterError(
                f"attacks must hold names ({', '.join(catalogue)}) or membership attacks, but hold {attack!r}.",
                argument="attacks",
            )
    return built


def _check_complements(shadows: Shadows) -> None:
    """Raise `ParameterError` if two models without partners are complements of each other: not a coincidence."""
    if shadows.paired or shadows.n_records < MIN_COMPLEMENT_RECORDS:
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


def _design(shadows: Shadows, target: str | None) -> str:
    if target is not None:
        drawn = "; each record in each model by an independent fair coin" if shadows.fair else ""
        return f"model {target} is the target, the others are references only{drawn}"
    if shadows.paired:
        return "pairs of models trained on complementary halves, each scored by the others"
    if shadows.fair:
        return "each record in each model by an independent fair coin, each model scored by the others"
    return "supplied by the user: not known to be drawn by fair coins"


def _feature_baseline(shadows: Shadows, target: int, confidence: float, design: Design) -> FeatureBaseline | None:
    """Return the baseline of the first target in a natural split; None with fair coins, which need none."""
    if shadows.fair:
        return None
    references = None
    if len(shadows) > 1 and design.offline and "loss" in shadows.signals:
        references = np.delete(shadows.signal("loss"), target, axis=0).mean(axis=0)
    member = shadows.inclusion[target]
    return blind_baseline(member, X=shadows.X, y=shadows.y, references=references, confidence=confidence)


def _most_exposed(name: str, scores: Floats, member: Bools) -> tuple[ExposedMember, ...]:
    """Return the members with the highest scores, `(n_records,)`, and how many of the others score as high."""
    known = ~np.isnan(scores)
    inside, others = np.flatnonzero(member & known), np.sort(scores[~member & known])
    highest = inside[np.argsort(-scores[inside], kind="stable")[:MAX_EXPOSED]]
    as_high: Ints = len(others) - np.asarray(np.searchsorted(others, scores[highest], side="left"))
    return tuple(
        ExposedMember(name, int(record), float(scores[record]), int(n), len(others))
        for record, n in zip(highest, as_high, strict=True)
    )


def _region(claim: Guarantee) -> Region:
    fpr = np.unique(np.concatenate([np.geomspace(1e-6, 0.5, 80), np.linspace(0.0, 1.0, 41)]))
    tpr = 1.0 - np.asarray(claim.tradeoff(fpr))
    return Region(display_name(claim), tuple(fpr.tolist()), tuple(tpr.tolist()))
