"""The tables of a configuration with fixed keys, one class each; `schema.py` combines them."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from ...mechanisms.core import ParameterError


def _whole(value: Any) -> Any:
    """Convert integral floats such as 1e6 to int."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def named(value: Any) -> Any:
    """Convert a name to a table with that name."""
    return {"name": value} if isinstance(value, str) else value


RARE_FALSE_ALARM = 0.9999
"""Default confidence of audits: about 1 in 10,000 experiments with true claims reports a violation."""
OF_INTERVALS = 0.95
"""Default confidence of the intervals of [membership], which affect no verdict."""
Whole = Annotated[int, BeforeValidator(_whole)]
Values = Annotated[tuple[Any, ...], Field(strict=False, min_length=1)]
Names = Annotated[tuple[str, ...], Field(strict=False)]
Number = Annotated[float, Field(allow_inf_nan=False, strict=False)]
Answers = Number | Annotated[tuple[Number, ...], Field(strict=False, min_length=1)]


class Section(BaseModel):
    """A table with fixed keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Named(BaseModel):
    """A table with a `name` from a catalogue; every other key is an option of the named entry."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)
    name: str = Field(min_length=1, description="a name, in quotes")

    @property
    def options(self) -> dict[str, Any]:
        """All keys except `name`."""
        return dict(self.model_extra or {})


class DataSection(Named):
    """[data]: a dataset by name, whole or in part; other keys are its options."""

    column: str | None = Field(default=None, description="the name of one column, in quotes")
    columns: Annotated[tuple[str, ...], Field(strict=False)] | None = Field(
        default=None, description="a list of names of columns", min_length=1
    )
    target: str | None = Field(default=None, description="the name of the column to learn, in quotes")
    classes: Annotated[tuple[int, ...], Field(strict=False)] | None = Field(
        default=None, description="a list of two or more labels to keep", min_length=2
    )
    n_records: Whole | None = Field(default=None, ge=1, description="a whole number >= 1: this many, from the first on")
    scale: Literal["columns", "records"] | None = Field(default=None, description="'columns' or 'records'")
    dead_features: Whole | None = Field(
        default=None, ge=1, description="a whole number >= 1: this many features are added that are 0 in every record"
    )
    shadows: str | None = Field(
        default=None, min_length=1, description="the name of a file of shadow models, in quotes, for [membership]"
    )
    fair: bool | None = Field(
        default=None, description="true, if each record was in each model of shadows by an independent fair coin"
    )
    signal: str | None = Field(
        default=None, min_length=1, description="what the array scores of shadows is, such as 'margin'"
    )
    sha256: str | None = Field(
        default=None, pattern="^[0-9a-f]{64}$", description="the SHA-256 of the file of shadows, 64 digits in quotes"
    )


class NeighboursSection(Section):
    """[neighbours]: the differing record, and the relation of the pair."""

    relation: Literal["add_remove", "replace_one", "zero_out"] | None = Field(
        default=None, description="'add_remove', 'replace_one' or 'zero_out'"
    )
    d0: Answers | None = Field(default=None, description="a number or a list of numbers: the dataset of side 0 itself")
    d1: Answers | None = Field(default=None, description="a number or a list of numbers: the dataset of side 1 itself")
    record: Annotated[int, Field(ge=0)] | Literal["worst-case"] = Field(
        default="worst-case", description="the position of a record, a whole number >= 0, or 'worst-case'"
    )
    replacement: Any = Field(default=None, description="the value of the record in d0")
    canary: Annotated[Named, BeforeValidator(named)] | None = Field(
        default=None, description="the name of a canary, in quotes, or a table with a name and its options"
    )


SECRET_KINDS = ("values", "candidates", "bits")


class SecretSection(Section):
    """[game] secret: one of three kinds; the default is the category of a local mechanism."""

    values: Values | None = Field(
        default=None,
        description="a list of two or more possible values of the record, or, without [data], whole datasets",
    )
    candidates: Whole | None = Field(
        default=None, ge=2, description="a whole number >= 2: one of so many records of [data], from the first on"
    )
    bits: Annotated[Whole, Field(ge=1)] | str | None = Field(
        default=None, description="a whole number >= 1, a column of so many coins, or the name of a column of [data]"
    )
    prior: Annotated[tuple[Number, ...], Field(strict=False)] | None = Field(
        default=None, description="a list of probabilities, one a value or candidate; by default all equal"
    )
    tolerance: float | None = Field(
        default=None, ge=0, description="a number >= 0: how far a guessed value may lie from the true one"
    )
    reference: Any = Field(
        default=None, description="the dataset that each of the values, given without [data], is a neighbour of"
    )

    @property
    def kind(self) -> str:
        """Kind of the secret; raises `ParameterError` unless exactly one of `SECRET_KINDS` is set."""
        kinds = [kind for kind in SECRET_KINDS if getattr(self, kind) is not None]
        if len(kinds) != 1:
            raise ParameterError(
                f"secret must have one of {', '.join(SECRET_KINDS)}, but has {' and '.join(kinds) or 'none of them'}.",
                argument="secret",
            )
        return kinds[0]


class OneRunSection(Section):
    """[game] name = "one-run"."""

    counted: ClassVar[str] = "n_runs"

    name: Literal["one-run"] = Field(description="'one-run'; leave [game] out for runs on a pair of datasets")
    n_canaries: Whole = Field(ge=1, description="a whole number >= 1")
    n_runs: Whole = Field(default=1, ge=1, description="a whole number >= 1")
    n_references: Whole = Field(default=0, ge=0, description="a whole number >= 0: runs that an attack may learn from")


class ReconstructionSection(Section):
    """[game] name = "reconstruction"."""

    counted: ClassVar[str] = "n_rounds"

    name: Literal["reconstruction"] = Field(description="'reconstruction'")
    n_rounds: Whole = Field(
        ge=1, description="a whole number >= 1: each round draws a secret, runs once and guesses once"
    )
    secret: SecretSection | None = Field(
        default=None, description="a table with values, candidates or bits; by default the category of a record"
    )


GAMES: dict[str, type[OneRunSection | ReconstructionSection]] = {
    "one-run": OneRunSection,
    "reconstruction": ReconstructionSection,
}
"""Name of a game -> the keys of its [game], of which `counted` is the number of runs; `planning.games` has its task."""


class MembershipSection(Section):
    """[membership]: metrics of membership attacks on shadow models, or synthetic tables, instead of an audit."""

    n_models: Whole = Field(ge=2, description="a whole number >= 2: models or tables, each of half of the records")
    design: Literal["pairs", "bernoulli"] = Field(
        default="pairs", description="'pairs' of complementary halves, or 'bernoulli', a coin for each record"
    )
    attacks: Values | None = Field(
        default=None, description="a list of names of membership attacks, or of tables with a name; by default all"
    )
    population: Whole | None = Field(
        default=None, ge=1, description="a whole number >= 1: further records, used by no model, for comparison"
    )
    target: Whole | str | None = Field(
        default=None, description="the number of the audited model, from 0 on, or its name; the others are references"
    )
    per_model: bool = Field(default=False, description="true, for a row for each model")
    by_label: bool = Field(default=False, description="true, for a row for each label")
    by_attribute: str | None = Field(
        default=None, description="the name of an attribute of a synthetic table, in quotes: a row for each value"
    )


class AuditSection(Section):
    """[audit]: trials, confidence and bounds of the audit."""

    trials: Whole = Field(default=100_000, ge=1, description="a whole number >= 1: runs per side, pilot included")
    delta: float | None = Field(default=None, ge=0, lt=1, description="a number in [0, 1)")
    confidence: float = Field(default=RARE_FALSE_ALARM, gt=0, lt=1, description="a number strictly between 0 and 1")
    stop: Literal["anytime"] | None = Field(
        default=None, description="'anytime', to stop as soon as the claim is refuted; leave it out to run all trials"
    )
    bounds: Values = Field(default=("auto",), description="a list of names of bounds, or of tables with a name")
    estimates: Names = Field(
        default=(), description="a list of names of estimates, which are shown without a guarantee"
    )


class SearchSection(Section):
    """[search]: a search for the pair in a domain, confirmed on the trials of [audit]."""

    domain: str | dict[str, Any] = Field(
        description="a line such as 'numbers 0..1' or 'answers x 5; norm inf', in quotes, or a table with a kind"
    )
    explore: Whole = Field(default=2_000, ge=10, description="a whole number >= 10: runs per side of each look")
    budget: Whole | None = Field(
        default=None, ge=10, description="a whole number >= explore: runs per side of all looks together"
    )
