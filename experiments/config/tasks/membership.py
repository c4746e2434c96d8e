"""Membership attacks on shadow models from a configuration: metrics instead of an audit of a claim.

The models are those of a trainer, or the tables of a synthesiser (shadow_releases.py), or were trained by other code
and are read from a file (`shadows` of [data]).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import product
from typing import Any

from ....attacks.membership.base import MembershipAttack
from ....attacks.membership.catalogue import catalogue as membership_attacks
from ....audit.games.training import train_shadows
from ....audit.metrics.membership.evaluate import evaluate, targets_of
from ....audit.metrics.membership.result import MembershipResult
from ....audit.trials.execution import in_this_process
from ....audit.trials.options import Store
from ....audit.trials.progress import Reporter
from ....mechanisms.core.errors import AccountingError, DpassayError, ParameterError
from ....mechanisms.core.guarantee import Guarantee
from ....mechanisms.core.relation import Relation
from ....mechanisms.learning.base import Learner
from ...data.shadow_files import NamedShadows, load_shadows
from ..config_errors import pointing_at
from ..schema import Config
from ..sections import DataSection, MembershipSection
from ..source import Source
from ..trained_shadows import digest
from . import build, own, shadow_releases


@dataclass(frozen=True, eq=False)
class MembershipStudy:
    """Shadow models and attacks, ready to run.

    Args:
        learner: trained on random halves of the records.
        records: the scored records: `(X, y)`, or a table for a synthesiser.
        section: number of models, and design.
        attacks: None for all applicable attacks.
        population: records of the same distribution that no model uses; None for none.
        groups: the group of each record; None for none.
        claim: guarantee of the accountant, for the region in the plot; None if there is none.
        confidence: of each interval.
        seed: of coins and training.
    """

    learner: Learner
    records: Any
    section: MembershipSection
    _: KW_ONLY
    attacks: tuple[MembershipAttack, ...] | None
    population: Any
    groups: Sequence[str] | None
    claim: Guarantee | None
    confidence: float
    seed: int

    @property
    def activity(self) -> tuple[str, str]:
        """What is done, and to what: training models, or generating tables."""
        return getattr(self.learner, "activity", ("training", "models"))

    def answer(
        self, *, n_jobs: int | None = 1, store: Store = None, progress: bool | Reporter = False
    ) -> MembershipResult:
        """Train the shadow models, run the attacks, and compute the metrics; options as in `train_shadows`."""
        shadows = train_shadows(
            self.learner,
            self.records,
            self.section.n_models,
            seed=self.seed,
            design=self.section.design,
            population=self.population,
            n_jobs=n_jobs,
            store=store,
            progress=progress,
        )
        with in_this_process():
            return evaluate(
                shadows,
                self.attacks,
                target=self.section.target,
                per_model=self.section.per_model,
                groups=self.groups,
                claim=self.claim,
                confidence=self.confidence,
            )


@dataclass(frozen=True, eq=False)
class TrainedStudy:
    """Shadow models of other code, from a file, and attacks.

    Args:
        named: the models, and the ids of their records.
        section: the target, and whether each model has a row.
        attacks: names, or attacks with options; None for all applicable attacks.
        confidence: of each interval.
        source: locates errors of the attacks.
    """

    named: NamedShadows
    section: MembershipSection
    attacks: tuple[str | MembershipAttack, ...] | None
    confidence: float
    source: Source

    def answer(self) -> MembershipResult:
        """Run the attacks, and compute the metrics."""
        with pointing_at(self.source, "membership", self.section):
            targets_of(self.section.target, self.named.shadows, self.named.models)
        with pointing_at(self.source, "membership.attacks"):
            return evaluate(
                self.named.shadows,
                self.attacks,
                target=self.section.target,
                models=self.named.models,
                per_model=self.section.per_model,
                confidence=self.confidence,
            )


def study(config: Config, source: Source) -> MembershipStudy | TrainedStudy:
    """Build the study of [membership]; raise `ConfigError` if it cannot be run."""
    section, data = config.membership, config.data
    if section is None or data is None:
        raise source.error(("membership",), "[membership] needs records for members and non-members: add [data].")
    if data.shadows is not None:
        return _trained_study(data.shadows, section, config, source)
    with pointing_at(source, "mechanism", config.mechanism):
        if own.is_own(config.mechanism):
            own.check_allowed(config.mechanism, source.allowed)
            raise ParameterError(
                "[membership] trains models of the library only. For models of your own: dpassay membership FILE.",
                argument="name",
            )
        mechanism = build.build_mechanism(config.mechanism)
        other = next((kind for kind in shadow_releases.kinds() if kind.applies(mechanism)), None)
        if other is None and not isinstance(mechanism, Learner):
            raise ParameterError(
                "name must be that of a trainer, such as dp-sgd, or of a synthesiser, such as select-measure-generate "
                f"with view = 'table', but {config.mechanism.name!r} is neither.",
                argument="name",
            )
    with pointing_at(source, "membership", section):
        if section.target is not None and str(section.target) not in map(str, range(section.n_models)):
            raise ParameterError(
                f"target must be the number of a model, 0 to {section.n_models - 1}, but is {section.target!r}.",
                argument="target",
            )
        if section.design == "pairs" and section.n_models % 2:
            raise ParameterError(
                f"n_models must be even for pairs of complements, but is {section.n_models}. Use "
                f"{section.n_models + 1}, or design = 'bernoulli'.",
                argument="n_models",
            )
    prepare = _model_fields if other is None else other.fields
    study_fields = prepare(mechanism, section, data, source)
    with pointing_at(source, "membership", section):
        for attack in sorted(study_fields["attacks"] or (), key=lambda attack: -attack.minimum_references):
            attack.check_references(section.n_models, paired=section.design == "pairs")
    return MembershipStudy(
        **study_fields, section=section, claim=_claim(mechanism), confidence=config.audit.confidence, seed=config.seed
    )


def _trained_study(file: str, section: MembershipSection, config: Config, source: Source) -> TrainedStudy:
    """Read the shadow models of a file, and check that the attacks have enough of them."""
    assert config.data is not None
    if (found := digest(file, source)) != config.data.sha256:
        raise source.error(
            ("data", "sha256"),
            f"data.sha256 must be that of {file}, which is {found}, but is {config.data.sha256}: the file was changed. "
            "Restore it, or leave sha256 out.",
        )
    try:
        named = load_shadows(file, fair=bool(config.data.fair), signal=config.data.signal)
    except DpassayError as error:
        raise source.error(("data", "shadows"), f"data.shadows: {error}") from error
    with pointing_at(source, "membership.attacks"):
        attacks = _model_attacks(section)
        for attack in sorted(attacks or (), key=lambda attack: -attack.minimum_references):
            attack.check_references(len(named.shadows), paired=named.shadows.paired)
        # Given by name, an attack takes the form that the references allow.
        listed = zip(section.attacks or (), attacks or (), strict=True)
        forms = None if attacks is None else tuple(entry if isinstance(entry, str) else it for entry, it in listed)
    return TrainedStudy(named, section, forms, config.audit.confidence, source)


def _model_attacks(section: MembershipSection) -> tuple[MembershipAttack, ...] | None:
    """Return the listed attacks on models that predict labels; None for all."""
    if section.attacks is None:
        return None
    for entry, kind in product(section.attacks, shadow_releases.kinds()):
        kind.refuse(entry)
    return tuple(build.build_listed("attacks", entry, membership_attacks) for entry in section.attacks)


def _model_fields(learner: Any, section: MembershipSection, data: DataSection, source: Source) -> dict[str, Any]:
    """Return learner, records, attacks, population and groups for models that predict labels."""
    with pointing_at(source, "membership", section):
        attacks = _model_attacks(section)
        if section.by_attribute is not None:
            raise ParameterError(
                "by_attribute is for synthetic tables; models have by_label = true, a row for each label.",
                argument="by_attribute",
            )
    with pointing_at(source, "data", data):
        records = build.load_data(data)
        if not isinstance(records, tuple):
            raise ParameterError("[membership] needs features and labels, but the dataset has no target. Add target.")
    with pointing_at(source, "membership", section):
        population = None
        if section.population is not None:
            population = build.load_rest(data, n=section.population)
    groups = [f"label {label}" for label in records[1]] if section.by_label else None
    return {"learner": learner, "records": records, "attacks": attacks, "population": population, "groups": groups}


def _claim(mechanism: Any) -> Guarantee | None:
    """Return the claim on membership; None under "replace_one", and without noise or clipping."""
    if mechanism.relation is Relation.REPLACE_ONE:
        return None
    try:
        claim: Guarantee = mechanism.guarantee()
    except AccountingError:
        return None
    return claim
