"""Means of all columns of a study, exact or with noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ...accounting import ApproximateDP, GaussianDP, LaplaceDP, PureDP, self_composed
from ...accounting.numerics.binomial import log_choose
from ...accounting.numerics.laplace import laplace_log_cdf, log_laplace
from ...core.arrays import Floats
from ...core.base import Dataset, Mechanism, Neighbours, Outputs, example
from ...core.constraints import NonNegativeInt, Positive, PositiveInt, one_of_names
from ...core.errors import NeighboursError, ParameterError, plural
from ...core.guarantee import Guarantee
from ...core.records import check_records
from ...core.relation import Relation
from ...noise.base import VACUOUS_DELTA
from ...noise.laplace import draw_laplace
from .populations import Population, Study, check_people, draw_people

LOG_CDF: dict[str, Callable[[Floats], Floats]] = {"gaussian": special.log_ndtr, "laplace": laplace_log_cdf}
"""Log distribution function of standard noise."""
MAX_BLOCK_OUTPUTS = 100_000
"""Number of outputs whose densities are summed over counts at once."""
POWERS, SMALL = 200.0, 1e-200
"""Largest exponent of e, and smallest sum, for which powers of e are added without rescaling.

Coefficients below the smallest float, 1e-308, then add a relative error of less than 1e-19.
"""


@dataclass(frozen=True)
class ColumnMeans(Mechanism):
    """Share of ones in each of d columns of n people: exact, rounded, or with Gaussian or Laplace noise.

        release = round(mean of the rows + noise, decimals)

    One replaced record moves each mean by at most 1/n: all of them by sqrt(d)/n in the L2 norm and d/n in the L1 norm.

    Args:
        n_records: n, a public number, >= 1.
        n_attributes: d, number of columns, >= 1.
        noise: "none", "gaussian" or "laplace".
        scale: scale of the noise of each mean, in units of the means, > 0: its standard deviation s (Gaussian), or b
            (Laplace).
        noise_multiplier: scale / sensitivity, in the norm of the noise, > 0; instead of scale.
        decimals: number of decimals to which the means are rounded, >= 0; None: no rounding.
        population: None, or the population of the other people in `worst_case()`: the pair is then a `Study` with a
            person of that population, and a `Study` of non-members only.

    A dataset is an array `(n, d)` of zeros and ones, or a `Study`.

    Guarantees:
        * Gaussian noise: mu-Gaussian DP with mu = sqrt(d) / (n s) (Dong, Roth and Su 2022), exactly, where all columns
          of a record change.
        * Laplace noise: epsilon-DP with epsilon = d / (n b); the exact curve is that of d answers that change by 1/n.
        * No noise: no guarantee, rounded or not. The claim is epsilon = inf at every delta.
        * Rounding noisy means keeps the claim: it is post-processing.
        * Where all but one are non-members, the law of each mean is a mixture over the binomial count of non-members.

    Raises:
        ParameterError: a value out of range; noise without a scale, or a scale without noise.

    Example:
        >>> private = ColumnMeans(100, 400, noise_multiplier=2.0)
        >>> private.noise_scale, private.guarantee().mu
        (0.4, 0.5)
        >>> ColumnMeans(100, 400, noise="none", decimals=1).guarantee().epsilon(1e-6)
        inf
    """

    _example = example(noise_multiplier=2.0)

    n_records: PositiveInt = 100
    n_attributes: PositiveInt = 4
    _: KW_ONLY
    noise: Annotated[str, one_of_names("none", "gaussian", "laplace")] = "gaussian"
    scale: Positive | None = None
    noise_multiplier: Positive | None = None
    decimals: NonNegativeInt | None = None
    population: Population | None = None
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        scales = {name: getattr(self, name) for name in ("scale", "noise_multiplier")}
        scales = {name: value for name, value in scales.items() if value is not None}
        if len(scales) != (self.noise != "none"):
            required = (
                "neither scale nor noise_multiplier" if self.noise == "none" else "one of scale and noise_multiplier"
            )
            raise ParameterError(
                f"noise is {self.noise!r}: give {required}, but {' and '.join(scales) or 'none'} is given.",
                argument=[*scales, "noise"],
            )
        if self.population is not None and not isinstance(self.population, Population):
            raise ParameterError(
                argument="population", value=self.population, allowed="be None or a Population, such as Uniform()"
            )

    @property
    def sensitivity(self) -> float:
        """Sensitivity of all means together: sqrt(d) / n for Gaussian noise, d / n for Laplace noise and no noise."""
        length = math.sqrt(self.n_attributes) if self.noise == "gaussian" else self.n_attributes
        return length / self.n_records

    @property
    def noise_scale(self) -> float:
        """Scale of the noise of each mean: s for Gaussian noise, b for Laplace noise; 0 without noise."""
        if self.noise == "none":
            return 0.0
        return self.scale if self.scale is not None else float(self.noise_multiplier or 0.0) * self.sensitivity

    @property
    def standard_deviation(self) -> float:
        """Standard deviation of the error of each mean: noise, and rounding as if its error were uniform."""
        noise = self.noise_scale * (math.sqrt(2.0) if self.noise == "laplace" else 1.0)
        if self.decimals is None or (self.noise == "none" and 10**self.decimals % self.n_records == 0):
            return noise
        return math.hypot(noise, 10.0**-self.decimals / math.sqrt(12.0))

    def guarantee(self) -> Guarantee:
        """Return `GaussianDP`, `PureDP`, or a vacuous guarantee without noise."""
        if self.noise == "none":
            return ApproximateDP(0.0, VACUOUS_DELTA, relation=self.relation)
        ratio = self.sensitivity / self.noise_scale
        if self.noise == "gaussian":
            return GaussianDP(ratio, relation=self.relation)
        return PureDP(ratio, relation=self.relation)

    def exact_guarantee(self) -> Guarantee | None:
        """Return the exact guarantee on `worst_case()`; None for rounded noise, and with a population."""
        if self.population is not None or (self.decimals is not None and self.noise != "none"):
            return None
        if self.noise == "laplace":
            mean = LaplaceDP(1.0 / (self.n_records * self.noise_scale), relation=self.relation)
            return self_composed(mean, self.n_attributes)
        return self.guarantee()

    def worst_case(self) -> Neighbours:
        """Return rows of zeros, one of which is all ones on side 1; with a population, two studies.

        The study on side 0 has non-members only, the study on side 1 a person of the population.
        """
        if self.population is None:
            d0 = np.zeros((self.n_records, self.n_attributes), dtype=np.uint8)
            d1 = d0.copy()
            d1[0] = 1
            return Neighbours(d0, d1, self.relation)
        frequencies = self.population.frequencies(self.n_attributes)
        person = draw_people(frequencies, 1, np.random.default_rng([self.population.seed, 1]))[0]
        return Neighbours(Study(frequencies), Study(frequencies, person), self.relation)

    def _check_pair(self, neighbours: Neighbours) -> None:
        """Check that the pair is two arrays that differ in a row, or two studies that differ in the person."""
        d0, d1 = (self._checked(neighbours.side(side)) for side in (0, 1))
        if isinstance(d0, Study) and isinstance(d1, Study):
            if not np.array_equal(d0.frequencies, d1.frequencies):
                raise NeighboursError("d0 and d1 must have the same frequencies: only a person may be replaced.")
            if d0.person is d1.person or (
                d0.person is not None and d1.person is not None and np.array_equal(d0.person, d1.person)
            ):
                raise NeighboursError(
                    "d0 and d1 are the same: neighbours differ in the person. Give one side a Study without it."
                )
        elif isinstance(d0, Study) or isinstance(d1, Study):
            raise NeighboursError("one side is a Study and the other an array: give two studies or two arrays.")
        else:
            check_records(neighbours)

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """Return `size` vectors of means, shape `(size, n_attributes)`."""
        dataset = self._checked(dataset)
        shape = (size, self.n_attributes)
        if isinstance(dataset, Study):
            means = dataset.counts(self.n_records, size, rng) / self.n_records
        else:
            means = np.broadcast_to(self.means(dataset), shape).copy()
        if self.noise == "gaussian":
            means += self.noise_scale * rng.standard_normal(shape)
        elif self.noise == "laplace":
            means += draw_laplace(self.noise_scale, shape, rng)
        return Outputs(means if self.decimals is None else np.round(means, self.decimals))

    def means(self, people: NDArray[np.uint8]) -> Floats:
        """Return the exact means of the columns of `people` `(n, d)`, shape `(d,)`."""
        return np.asarray(people.sum(axis=0, dtype=np.int64) / self.n_records)

    def log_density(self, outputs: Outputs, dataset: Dataset) -> Floats:
        """Return the log density (without noise or with rounding: log probability) of each output, shape `(size,)`."""
        return np.asarray(self.column_log_density(outputs.values, dataset).sum(axis=1))

    def column_log_density(self, values: Floats, dataset: Dataset) -> Floats:
        """Return the log density of each mean of `values` `(size, n_attributes)`, same shape; means are independent."""
        dataset = self._checked(dataset)
        if not isinstance(dataset, Study):
            return self._log_noise(values, np.broadcast_to(self.means(dataset), values.shape))
        centres = np.arange(self.n_records + 1) / self.n_records
        if self.noise == "none":
            return self._log_table(
                values, dataset, centres if self.decimals is None else np.round(centres, self.decimals)
            )
        log_densities = np.empty(values.shape)
        step = max(1, MAX_BLOCK_OUTPUTS // max(1, len(values)))
        for start in range(0, self.n_attributes, step):
            part = slice(start, start + step)
            masses = self._log_masses(dataset, part)
            if self.noise == "gaussian" and self.decimals is None:
                log_densities[:, part] = self._log_polynomial(values[:, part], masses)
            else:
                log_densities[:, part] = self._log_sum(values[:, part], masses)
        return log_densities

    def _log_sum(self, values: Floats, log_masses: Floats) -> Floats:
        """Return the log of the sum over counts k of mass times density around k / n, by log-sum-exp."""
        log_sums = np.empty(values.shape)
        for j in range(values.shape[1]):
            centres = (np.arange(self.n_records + 1) / self.n_records)[:, None]
            log_terms = self._log_noise(values[None, :, j], centres) + log_masses[:, j, None]
            log_sums[:, j] = special.logsumexp(log_terms, axis=0)
        return log_sums

    def _log_polynomial(self, values: Floats, log_masses: Floats) -> Floats:
        """Return `_log_sum` for Gaussian noise, computed without an exponential for each k.

        With k0 the likeliest count, u = k - k0 and x = (value - k0 / n) / (n s^2), the sum is the density around k0
        times the sum of c_u e^(u x), where c_u is the mass times e^(-u^2 / (2 n^2 s^2)): a polynomial in e^x, by
        Horner's rule. Where powers of e^x could overflow or underflow, `_log_sum` is used.
        """
        n, s = self.n_records, self.noise_scale
        likeliest = log_masses.argmax(axis=0)
        x = (values - likeliest / n) / (n * s * s)
        if n * np.abs(x).max(initial=0.0) > POWERS:
            return self._log_sum(values, log_masses)
        shifted = np.arange(n + 1)[:, None] - likeliest
        coefficients = np.exp(log_masses - 0.5 * np.square(shifted / (n * s)))
        base, total = np.exp(x), np.zeros(values.shape)
        for coefficient in coefficients[::-1]:
            total *= base
            total += coefficient
        if total.min(initial=1.0) < SMALL:
            return self._log_sum(values, log_masses)
        return np.asarray(np.log(total) - likeliest * x + self._log_noise(values, likeliest / n))

    def _log_table(self, values: Floats, study: Study, means: Floats) -> Floats:
        """Return log probabilities of exact or rounded means, n + 1 values at most: `means[k]` for the count k."""
        distinct, index = np.unique(means, return_inverse=True)
        table = np.full((len(distinct), self.n_attributes), -np.inf)
        np.logaddexp.at(table, index, self._log_masses(study, slice(None)))
        position = np.minimum(np.searchsorted(distinct, values), len(distinct) - 1)
        return np.where(distinct[position] == values, np.take_along_axis(table, position, axis=0), -np.inf)

    def _log_masses(self, study: Study, columns: slice) -> Floats:
        """Return the log probability of each count 0..n in each of the columns, shape `(n + 1, columns)`."""
        n, p = study.n_non_members(self.n_records), study.frequencies[columns]
        shift = np.zeros(len(p)) if study.person is None else study.person[columns]
        ones = np.arange(self.n_records + 1.0)[:, None] - shift
        inside = (ones >= 0) & (ones <= n)
        k = np.where(inside, ones, 0.0)
        return np.where(inside, log_choose(n, k) + special.xlogy(k, p) + special.xlog1py(n - k, -p), -np.inf)

    def _log_noise(self, values: Floats, centres: Floats) -> Floats:
        """Return the log density of `values` around exact means, or with rounding their log probability."""
        if self.noise == "none":
            exact = centres if self.decimals is None else np.round(centres, self.decimals)
            return np.where(values == exact, 0.0, -np.inf)
        if self.decimals is None and self.noise == "laplace":
            return log_laplace(values, centres, self.noise_scale)
        z = np.subtract(values, centres) / self.noise_scale
        if self.decimals is None:
            return np.asarray(-0.5 * z * z - math.log(self.noise_scale * math.sqrt(2.0 * math.pi)))
        half = 0.5 * 10.0**-self.decimals / self.noise_scale
        z = -np.abs(z)
        upper, lower = (LOG_CDF[self.noise](z + step) for step in (half, -half))
        return np.asarray(upper + np.log(-np.expm1(lower - upper)))

    def _checked(self, dataset: Dataset) -> Study | NDArray[np.uint8]:
        """Return the dataset; raise `ParameterError` unless it is a study, or n people, with d columns."""
        if isinstance(dataset, Study):
            if len(dataset.frequencies) != self.n_attributes:
                raise ParameterError(
                    f"the study has {plural(len(dataset.frequencies), 'column')}, but n_attributes is "
                    f"{self.n_attributes:,}.",
                    argument="n_attributes",
                )
            return dataset
        people = check_people(dataset, self.n_attributes, "dataset")
        if len(people) != self.n_records:
            raise ParameterError(
                f"the dataset has {plural(len(people), 'person', 'people')}, but n_records is {self.n_records:,}, a "
                "public number.",
                argument="n_records",
            )
        return people
