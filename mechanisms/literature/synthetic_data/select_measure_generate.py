"""Select, measure, generate: synthetic data as a mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Annotated

import numpy as np

from ...core.arrays import Floats
from ...core.base import Dataset, LogDensity, Neighbours, Outputs, example, unknown_law
from ...core.constraints import PositiveInt, one_of_names
from ...core.errors import ParameterError
from ...core.guarantee import Guarantee
from ...core.records import RecordsMechanism
from ...core.relation import Relation
from ...noise.queries.domain import Domain
from .base import (
    CodedTable,
    FittedDistribution,
    Generator,
    Marginal,
    MarginalSelection,
    check_public_rows,
    checked_marginals,
)
from .catalogue import generators, selections

VIEWS = ("measurements", "marginals", "table")
"""Possible outputs: see `SelectMeasureGenerate`."""


@dataclass(frozen=True)
class SelectMeasureGenerate(RecordsMechanism):
    """Synthetic data: select marginals, measure them with noise, generate a table that fits the answers.

    Generating is post-processing: the guarantee is that of selecting and measuring, for every output. (McKenna,
    Miklau and Sheldon 2021.) A table carries less information than the measurements.

    Args:
        domain: domain of the records; may be a dict of attribute -> number of values.
        selection: chooses marginals and measures them; has the guarantee.
        generator: fits a distribution to the answers.
        view: the output of a run:

            "measurements"  the selected marginals and the noisy answers, `(n_answers,)`: see
                            `MarginalSelection.transcript`
            "marginals"     the expected counts of the fitted distribution, `(n_cells,)`: the marginals in `shown`,
                            concatenated
            "table"         `n_rows` records drawn from it, `(n_rows, n_attributes)`, coded

        n_rows: rows of a table; None: the number of records, if it is public ("replace_one").
        shown: the marginals of view "marginals"; None: every marginal that the selection may measure.

    Guarantees:
        * The guarantee of the selection, for every view (post-processing: Dwork and Roth 2014, proposition 2.1).
        * View "measurements": the exact curve and the law of the outputs, if the selection knows them.
        * The number of records: under "replace_one" it is public and passed to the generator; under "add_remove" it is
          private and estimated from the answers.

    Example:
        >>> from dpassay.mechanisms.literature.synthetic_data import DirectGenerator, FixedMarginals
        >>> domain = Domain({"sex": 2, "race": 3})
        >>> selection = FixedMarginals((("sex",), ("sex", "race")), standard_deviation=10.0)
        >>> mechanism = SelectMeasureGenerate(domain, selection, DirectGenerator(), view="table", n_rows=50)
        >>> records = np.tile([[0, 2], [1, 0]], (500, 1))
        >>> tables = mechanism.release(records, 4, np.random.default_rng(0)).values
        >>> tables.shape, print(mechanism.guarantee())
        GaussianDP(mu=0.141421)
        ((4, 50, 2), None)
    """

    _example = example(
        domain={"sex": 2, "race": 3},
        selection=selections.build("fixed", marginals=(("sex",), ("race", "sex")), standard_deviation=2.0),
        generator=generators.build("direct"),
    )

    domain: Domain
    selection: MarginalSelection
    generator: Generator
    _: KW_ONLY
    view: Annotated[str, one_of_names(*VIEWS)] = "measurements"
    n_rows: PositiveInt | None = None
    shown: tuple[Marginal, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "domain", Domain.of(self.domain))
        kinds = (("selection", MarginalSelection, "MST(rho=0.1)"), ("generator", Generator, "GraphicalModel()"))
        for name, kind, shown in kinds:
            if not isinstance(getattr(self, name), kind):
                raise ParameterError(
                    argument=name,
                    value=getattr(self, name),
                    allowed=f"be a {kind.__name__} of mechanisms.synthetic_data",
                    advice=f"Pass an object, such as {shown}; names are for configs.",
                )
        object.__setattr__(self, "relation", self.selection.relation)
        self.selection.candidates(self.domain)
        if self.shown is not None:
            object.__setattr__(self, "shown", checked_marginals(self.domain, self.shown))
        if self.view == "table":
            check_public_rows(self.n_rows, self.relation)

    @cached_property
    def answered(self) -> tuple[Marginal, ...]:
        """Marginals of view "marginals"."""
        return self.selection.candidates(self.domain) if self.shown is None else self.shown

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` runs, shape `(size, ...)` according to the view."""
        if size == 0:
            return Outputs(self.release(dataset, 1, np.random.default_rng(0)).values[:0])
        table = CodedTable.of(self.domain, dataset)
        if self.view == "measurements":
            measured = self.selection.measure(table, self.generator, size, rng)
            return Outputs(self.selection.transcript(self.domain, measured, size))
        fitted = self.synthesised(table, size, rng)
        if self.view == "table":
            return Outputs(fitted.table(len(table) if self.n_rows is None else self.n_rows, rng))
        return Outputs(_marginals_of(fitted, self.answered))

    def synthesised(self, dataset: Dataset | CodedTable, size: int, rng: np.random.Generator) -> FittedDistribution:
        """Return the fitted distributions of `size` runs."""
        table = dataset if isinstance(dataset, CodedTable) else CodedTable.of(self.domain, dataset)
        measured = self.selection.measure(table, self.generator, size, rng)
        n_records = len(table) if self.relation is Relation.REPLACE_ONE else None
        return self.generator.fit(self.domain, measured, rng, n_records=n_records)

    def guarantee(self) -> Guarantee:
        """Return the guarantee of the selection."""
        return self.selection.guarantee(self.domain)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact curve of the selection for view "measurements"; None for the other views."""
        return self.selection.exact_guarantee(self.domain) if self.view == "measurements" else None

    def worst_case(self) -> Neighbours:
        """Return the worst case of the selection."""
        return self.selection.worst_case(self.domain)

    def _check_dataset(self, dataset: Dataset) -> None:
        _ = CodedTable.of(self.domain, dataset)

    def output_law(self) -> LogDensity | None:
        """Return self for view "measurements" if the selection knows the law of its transcript; otherwise None."""
        known = self.view == "measurements" and self.selection.has_density(self.generator)
        return self if known else None

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density of each output of view "measurements" under `dataset`, shape `(size,)`.

        Raises:
            ParameterError: the selection does not know the law of its measurements.
        """
        density = self.selection.log_density(outputs.values, CodedTable.of(self.domain, dataset), self.generator)
        if density is None:
            raise unknown_law(self)
        return density


def _marginals_of(fitted: FittedDistribution, marginals: Sequence[Marginal]) -> Floats:
    """Return expected counts of several marginals, concatenated, shape `(size, n_cells)`."""
    return np.concatenate([fitted.marginal(names) for names in marginals], axis=1)
