"""Membership attacks on shadow models from a configuration: metrics instead of an audit of a claim.

ShadowTask     models of a trainer, or other releases (shadow_releases.py), made here
TrainedTask    models that other code trained, from a file (`shadows` of [data])
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, Self

from ....attacks.membership.base import MembershipAttack
from ....attacks.membership.catalogue import catalogue as membership_attacks
from ....audit.games.training import train_shadows
from ....audit.metrics.membership.evaluate import evaluate, targets_of
from ....audit.metrics.membership.result import MembershipResult
from ....audit.trials.execution import in_this_process
from ....audit.trials.options import RunOptions
from ....mechanisms.core import AccountingError, DpassayError, Guarantee, ParameterError, Relation, plural
from ....mechanisms.learning.base import Learner
from ...data.shadow_files import NamedShadows, load_shadows
from ...tasks.base import HERE
from ..sections import DataSection, MembershipSection, Named
from ..trained_shadows import digest
from . import build, own, shadow_releases
from .base import PointTask
from .point import Point


@dataclass(frozen=True, eq=False, kw_only=True)
class StudyTask(PointTask):
    """Membership attacks on shadow models.

    Args:
        section: number of models, their design, the target, and the rows of the result.
        attacks: names, or attacks with options; None for all applicable attacks.
        models: names of the models; None if they are numbered.
        groups: the group of each record; None for none.
        claim: guarantee of the accountant, for the region in the plot; None if there is none.
    """

    section: MembershipSection
    attacks: tuple[str | MembershipAttack, ...] | None
    models: Sequence[str] | None = None
    groups: Sequence[str] | None = None
    claim: Guarantee | None = None

    def answer(self, evidence: Any) -> MembershipResult:
        """Run the attacks on the shadow models, and compute the metrics."""
        with in_this_process():
            return evaluate(
                evidence,
                self.attacks,
                target=self.section.target,
                models=self.models,
                per_model=self.section.per_model,
                groups=self.groups,
                claim=self.claim,
                confidence=self.confidence,
            )


@dataclass(frozen=True, eq=False, kw_only=True)
class ShadowTask(StudyTask):
    """Shadow models that are trained here.

    Args:
        learner: trained on random halves of the records.
        records: the scored records: `(X, y)`, or a table for a synthesiser.
        population: records of the same distribution that no model uses; None for none.
    """

    folder: ClassVar[str] = "shadow-models"

    learner: Learner
    records: Any
    population: Any = None

    @classmethod
    def plan(cls, point: Point) -> Self:
        """Build learner, records and attacks, and check that there are enough models."""
        config = point.config
        if config.data is None or config.membership is None:
            raise point.source.error(
                ("membership",), "[membership] needs records for members and non-members: add [data]."
            )
        with point.section("mechanism") as named:
            mechanism, kind = _shadows_of(named, point)
        with point.section("membership") as section:
            _check_models(section)
            fields = (_model_fields if kind is None else kind.fields)(section, mechanism, point)
            _check_references(fields["attacks"], section.n_models, section.design)
        return cls(
            **fields,
            parameters=point.parameters,
            section=section,
            claim=_claim(mechanism),
            confidence=config.audit.confidence,
            seed=point.seed,
        )

    @property
    def activity(self) -> str:
        """What is done, and to what: training models, or generating tables."""
        step, kind = getattr(self.learner, "activity", ("training", "models"))
        return f"{step} {self.section.n_models} {kind}, then attacking them"

    def estimate(self) -> int:
        """Return the number of models."""
        return self.section.n_models

    def run(self, options: RunOptions = HERE) -> Any:
        """Train the shadow models."""
        return train_shadows(
            self.learner,
            self.records,
            self.section.n_models,
            seed=self.seed,
            design=self.section.design,
            population=self.population,
            **vars(options),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class TrainedTask(StudyTask):
    """Shadow models of other code, from a file.

    Args:
        named: the models, and the ids of their records.
        point: locates errors of the attacks.
    """

    indivisible: ClassVar[str] = "[data] has shadow models that are trained already"

    named: NamedShadows
    point: Point

    @classmethod
    def plan(cls, point: Point) -> Self:
        """Read the shadow models, and check that the attacks have enough of them."""
        with point.section("data") as data:
            named = _read_shadows(data, point)
        with point.section("membership.attacks") as entries:
            attacks = _listed_attacks(entries, named)
        assert point.config.membership is not None
        return cls(
            named=named,
            models=named.models,
            section=point.config.membership,
            attacks=attacks,
            point=point,
            parameters=point.parameters,
            confidence=point.config.audit.confidence,
            seed=point.seed,
        )

    @property
    def activity(self) -> str:
        """What is done: attacking so many models."""
        return f"attacking {plural(len(self.named.shadows), 'model')}"

    @property
    def record_ids(self) -> Sequence[str]:
        """Names of the records of the file."""
        return self.named.ids

    def estimate(self) -> int:
        """Return 0: the models are trained."""
        return 0

    def run(self, options: RunOptions = HERE) -> Any:
        """Return the models of the file."""
        return self.named.shadows

    def answer(self, evidence: Any) -> MembershipResult:
        """Run the attacks on the models, and compute the metrics."""
        with self.point.section("membership"):
            targets_of(self.section.target, evidence, self.named.models)
        with self.point.section("membership.attacks"):
            return super().answer(evidence)


def _shadows_of(section: Named, point: Point) -> tuple[Any, shadow_releases.ShadowReleases | None]:
    """Return the mechanism, and the kind of its releases; None for a trainer."""
    if own.is_own(section):
        own.check_allowed(section, point.source.allowed)
        raise ParameterError(
            "[membership] trains models of the library only. For models of your own: dpassay membership FILE.",
            argument="name",
        )
    mechanism = build.build_mechanism(section)
    kind = next((kind for kind in shadow_releases.kinds() if kind.applies(mechanism)), None)
    if kind is None and not isinstance(mechanism, Learner):
        raise ParameterError(
            "name must be that of a trainer, such as dp-sgd, or of a synthesiser, such as select-measure-generate "
            f"with view = 'table', but {section.name!r} is neither.",
            argument="name",
        )
    return mechanism, kind


def _check_models(section: MembershipSection) -> None:
    """Raise `ParameterError` for a target that is no model, or an odd number of models in pairs."""
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


def _check_references(attacks: Iterable[MembershipAttack] | None, n_models: int, design: str) -> None:
    """Raise `ParameterError` for an attack that needs more models; of several, the one that needs most."""
    for attack in sorted(attacks or (), key=lambda attack: -attack.minimum_references):
        attack.check_references(n_models, paired=design == "pairs")


def _read_shadows(data: DataSection, point: Point) -> NamedShadows:
    """Read the shadow models of a file, whose content the configuration may state."""
    file = str(data.shadows)
    if (content := digest(file, point.source)) != data.sha256:
        raise ParameterError(
            f"sha256 must be that of {file}, which is {content}, but is {data.sha256}: the file was changed. "
            "Restore it, or leave sha256 out.",
            argument="sha256",
        )
    try:
        return load_shadows(file, fair=bool(data.fair), signal=data.signal)
    except DpassayError as error:
        raise ParameterError(f"shadows: {error}", argument="shadows") from error


def _listed_attacks(entries: Any, named: NamedShadows) -> tuple[str | MembershipAttack, ...] | None:
    """Return the listed attacks, for which the models suffice; a plain name takes the form that they allow."""
    attacks = _model_attacks(entries)
    _check_references(attacks, len(named.shadows), "pairs" if named.shadows.paired else "bernoulli")
    if attacks is None:
        return None
    return tuple(entry if isinstance(entry, str) else it for entry, it in zip(entries, attacks, strict=True))


def _model_attacks(entries: Any) -> tuple[MembershipAttack, ...] | None:
    """Return the listed attacks on models that predict labels; None for all."""
    if entries is None:
        return None
    for entry, kind in product(entries, shadow_releases.kinds()):
        kind.refuse(entry)
    return tuple(build.build_listed("attacks", entry, membership_attacks) for entry in entries)


def _model_fields(section: MembershipSection, learner: Any, point: Point) -> dict[str, Any]:
    """Return learner, records, attacks, population and groups for models that predict labels."""
    attacks = _model_attacks(section.attacks)
    if section.by_attribute is not None:
        raise ParameterError(
            "by_attribute is for synthetic tables; models have by_label = true, a row for each label.",
            argument="by_attribute",
        )
    records, population = point.data, None
    if not isinstance(records, tuple):
        raise ParameterError(
            "[membership] needs features and labels, but the dataset has no target. Add target.", argument="data"
        )
    if section.population is not None and point.config.data is not None:
        population = build.load_rest(point.config.data, n=section.population)
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
