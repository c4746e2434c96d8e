"""Membership attacks on shadow models, asked by a configuration: metrics, where no claim is audited."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...attacks.membership.base import MembershipAttack
from ...audit.games.training import train_shadows
from ...audit.membership.evaluate import evaluate
from ...audit.membership.result import MembershipResult
from ...audit.trials.progress import Reporter
from ...mechanisms.errors import AccountingError, ParameterError
from ...mechanisms.guarantees.base import Guarantee
from ...mechanisms.learning.base import Learner
from ..config.config_errors import pointing_at
from ..config.schema import Config
from ..config.sections import MembershipSection
from ..config.source import Source
from . import build


@dataclass(frozen=True, eq=False)
class Study:
    """Shadow models and attacks, ready to run.

    Args:
        learner: trained on random halves of the records.
        records: the `(X, y)` that are scored.
        section: how many models, in which design.
        attacks: None for all that can be used.
        population: `(X, y)` that no model sees; None for none.
        claim: what the accountant promises, for the region in the plot; None where it promises nothing.
        confidence: of each interval.
        seed: of coins and training.
    """

    learner: Learner
    records: Any
    section: MembershipSection
    attacks: tuple[MembershipAttack, ...] | None
    population: Any
    claim: Guarantee | None
    confidence: float
    seed: int

    def answer(
        self, *, n_jobs: int | None = 1, store: Path | None = None, progress: bool | Reporter = False
    ) -> MembershipResult:
        """Trains, attacks, measures; the options are those of `train_shadows`."""
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
        return evaluate(
            shadows,
            self.attacks,
            groups=[f"label {label}" for label in self.records[1]] if self.section.by_label else None,
            claim=self.claim,
            confidence=self.confidence,
        )


def study(config: Config, source: Source) -> Study:
    """What [membership] asks; raises `ConfigError` if it cannot be run."""
    section = config.membership
    if section is None or config.data is None:
        raise source.error(("membership",), "[membership] needs a dataset with features and labels: add [data].")
    with pointing_at(source, "mechanism", config.mechanism):
        learner = build.build_mechanism(config.mechanism)
        if not isinstance(learner, Learner):
            raise ParameterError(
                f"name must be that of a trainer, such as dp-sgd, but {config.mechanism.name!r} is none.",
                argument="name",
            )
    with pointing_at(source, "membership", section):
        attacks = None if section.attacks is None else tuple(map(build.build_member_attack, section.attacks))
        if section.design == "pairs" and section.n_models % 2:
            raise ParameterError(
                f"n_models must be even for pairs of complements, but is {section.n_models}.", argument="n_models"
            )
    with pointing_at(source, "data", config.data):
        records = build.load_data(config.data)
        if not isinstance(records, tuple):
            raise ParameterError("[membership] needs features and labels, but the dataset has no target. Add target.")
    with pointing_at(source, "membership", section):
        population = None
        if section.population is not None:
            X, y = build.load_rest(config.data)
            if section.population > len(X):
                raise ParameterError(
                    f"population must be at most {len(X):,}, the records that n_records of [data] leaves out, but is "
                    f"{section.population:,}.",
                    argument="population",
                )
            population = X[: section.population], y[: section.population]
    try:
        claim = learner.guarantee()
    except AccountingError:  # no noise, or no clipping: nothing is promised
        claim = None
    return Study(learner, records, section, attacks, population, claim, config.audit.confidence, config.seed)
