"""Summary statistics of a synthetic table: a classifier on them, or a rule for each record in the membership game."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from ....mechanisms.core import AttackError, Floats, Positive, one_of_names
from ...base import Target
from ...membership.base import MembershipAttack
from ...membership.shadows import Shadows
from .base import LearnedAttack, TableFeatures, Tables, as_table
from .density import histograms
from .levels import Levels

FEATURE_SETS = ("naive", "histogram", "correlation", "all")


@dataclass(frozen=True, kw_only=True)
class Groundhog(LearnedAttack):
    """Score of a table from summary statistics that do not depend on the record.

    It detects an outlier, which moves a mean or fills an empty bin; `GeneratedQueries`, which uses the record, mostly
    detects more.

    Args:
        statistics: "naive", mean, median and variance of each column; "histogram", the share of rows in each level (ten
            bins of a real column); "correlation", of each pair of columns; or "all".
        model: "logistic", "boosting", "forest", "table" or "auto"; as for `Classifier`.

    Raises:
        ParameterError: unknown statistics, or an unknown model.
        AttackError: the pair or the outputs are not tables, or fewer than 30 pilot tables on a side.

    References:
        Stadler, Oprisanu and Troncoso (2022), "Synthetic data: anonymisation groundhog day", USENIX Security. There a
        random forest on naive, histogram and correlation features.

    Example:
        >>> from dpassay.mechanisms import Gaussian, Neighbours, Outputs
        >>> rng, table = np.random.default_rng(0), np.array([[9, 0], [1, 1], [0, 1]])
        >>> pair = Neighbours(table[1:], table, "add_remove")
        >>> draw = lambda data, size: Outputs(data[rng.integers(len(data), size=(size, 3))])
        >>> attack, target = Groundhog(statistics="naive"), Target(Gaussian(noise_multiplier=1.0), pair)
        >>> scorer = attack.fit(target, draw(pair.d0, 200), draw(pair.d1, 200), rng)
        >>> without, with_ = scorer.score(Outputs(np.array([[[0, 1], [0, 1], [1, 1]], [[9, 0], [0, 1], [1, 1]]])))
        >>> bool(with_ > without)
        True
    """

    statistics: Annotated[str, one_of_names(*FEATURE_SETS)] = "all"

    def features(self, target: Target, tables0: Tables, tables1: Tables, rng: np.random.Generator) -> TableFeatures:
        """Return the statistics; levels are learned from datasets and pilot together."""
        data = [as_table(target.neighbours.side(side)) for side in (0, 1)]
        return Statistics.of_kind(self.statistics, Levels.learn(*data, tables0, tables1))


CORRELATION_DIGITS = 9
"""Digits of correlations: sums in another order of rows differ in the last of 16, where a tree may split."""


@dataclass(frozen=True, eq=False)
class Statistics:
    """Statistics of each table, by name; identical to the last bit for any order of its rows."""

    kinds: tuple[str, ...]
    levels: Levels

    @classmethod
    def of_kind(cls, name: str, levels: Levels) -> Statistics:
        """Return the statistics for a name of `FEATURE_SETS`."""
        return cls(FEATURE_SETS[:-1] if name == "all" else (name,), levels)

    def of(self, tables: Tables) -> Floats:
        return np.concatenate([getattr(self, f"_{kind}")(tables) for kind in self.kinds], axis=1)

    def _naive(self, tables: Tables) -> Floats:
        ordered = np.sort(tables, axis=1)
        return np.concatenate([ordered.mean(axis=1), np.median(ordered, axis=1), ordered.var(axis=1)], axis=1)

    def _histogram(self, tables: Tables) -> Floats:
        parts = [histograms(self.levels.code(tables, column), n) for column, n in enumerate(self.levels.shape)]
        return np.asarray(np.concatenate(parts, axis=1) / tables.shape[1])

    def _correlation(self, tables: Tables) -> Floats:
        """Return correlations of all pairs of columns; 0 if a column does not vary."""
        centred = tables - tables.mean(axis=1, keepdims=True)
        spread = np.sqrt(np.einsum("srd,srd->sd", centred, centred))
        z = centred / np.where(spread > 0.0, spread, 1.0)[:, None, :]
        pairs = np.triu_indices(tables.shape[2], 1)
        return np.asarray(np.einsum("srd,sre->sde", z, z)[:, pairs[0], pairs[1]].round(CORRELATION_DIGITS))


MIN_RELATIVE_SPREAD = 1e-12
"""Relative spread among the references below which a statistic is not used."""


@dataclass(frozen=True)
class GroundhogMembership(MembershipAttack):
    """Score of a record: a linear rule on summary statistics of the table, learned for each record from other tables.

    For each target, a ridge regression of membership on the statistics of its references, all records at once: with Z
    the statistics of the references, standardised among them, z those of the target, and Y the membership, minus its
    mean,

        score = z' (Z'Z + ridge p I)^-1 Z' Y,        p statistics

    Args:
        ridge: penalty for each statistic, > 0.

    Raises:
        ParameterError: `ridge` is not positive.

    Guarantees:
        * the score of a target uses its own table, and tables and inclusion of the others, never its own coins.

    References:
        Stadler, Oprisanu and Troncoso (2022), "Synthetic data: anonymisation groundhog day", USENIX Security, who train
        a classifier for each record on shadow tables with and without it. Here the same tables serve all records.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> inclusion = rng.random((40, 10)) < 0.5
        >>> summaries = rng.normal(size=(40, 5)) + 5.0 * inclusion[:, :1] * (np.arange(5) == 2)
        >>> shadows = Shadows(inclusion, np.zeros(10), summaries=summaries)
        >>> scores = GroundhogMembership().score(shadows)[:, 0]
        >>> bool(scores[inclusion[:, 0]].min() > scores[~inclusion[:, 0]].max())
        True
    """

    name: ClassVar[str] = "groundhog"
    minimum_references = 2
    references = "learned"
    learns_each_record: ClassVar[bool] = True

    ridge: Positive = 1.0

    def scores_of(self, shadows: Shadows) -> Floats:
        if shadows.summaries is None:
            raise AttackError(
                "attack 'groundhog' reads summary statistics of synthetic tables, but these shadows have none. Make "
                "them by ShadowTables(..., statistics='all')."
            )
        return np.stack([self._of_target(shadows, target) for target in range(len(shadows))])

    def _of_target(self, shadows: Shadows, target: int) -> Floats:
        others = np.setdiff1d(np.arange(len(shadows)), [target, shadows.partners[target]])
        summaries = np.asarray(shadows.summaries)
        references = summaries[others]
        spread = references.std(axis=0)
        varies = spread > MIN_RELATIVE_SPREAD * (1.0 + np.abs(references).max(axis=0))
        z, z_target = (
            ((values - references.mean(axis=0)) / np.where(varies, spread, 1.0)) * varies
            for values in (references, summaries[target])
        )
        membership = shadows.inclusion[others] - shadows.inclusion[others].mean(axis=0)
        penalty = self.ridge * max(1, int(varies.sum()))
        return np.asarray(z_target @ z.T @ np.linalg.solve(z @ z.T + penalty * np.eye(len(others)), membership))
