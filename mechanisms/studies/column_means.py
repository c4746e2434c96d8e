"""The means of all columns of a study."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ..base import Dataset, LogDensity, Mechanism, Neighbours, Outputs
from ..errors import NeighboursError, ParameterError, plural
from ..guarantees import ApproximateDP, GaussianDP, PureDP
from ..guarantees.base import Guarantee
from ..noise.laplace import Laplace, draw_laplace
from ..records import check_records
from ..relation import Relation
from ..repeated import Repeated
from ..validation import one_of, positive, whole
from .populations import Floats, Population, draw_people
from .study import Study, check_people

ALL_BUT_NOTHING = 1.0 - 2.0**-53
"""The largest delta below 1: what holds for every mechanism, and promises nothing."""
CELLS = 100_000
"""Outputs whose densities are summed over counts at once."""
POWERS, SMALL = 200.0, 1e-200
"""Of e: powers up to here are added up as they are, if they come to this much. Coefficients below the least float,
1e-308, then add less than a share of 1e-19."""


@dataclass(frozen=True)
class ColumnMeans(Mechanism):
    """Share of ones in each of d columns of n people: exact, rounded, or with Gaussian or Laplace noise.

        release = round(mean of the rows + noise, decimals)

    One replaced record moves each mean by at most 1/n: all of them by sqrt(d)/n in the L2 norm and d/n in the L1 norm.

    Args:
        n_records: n, a public number, >= 1.
        n_attributes: d, columns, >= 1.
        noise: "none", "gaussian" or "laplace".
        scale: of the noise of each mean, in units of the means, > 0: its standard deviation s (Gaussian), or b
            (Laplace).
        noise_multiplier: scale / sensitivity, in the norm of the noise, > 0; instead of scale.
        decimals: to which the means are rounded, >= 0; None: not at all.
        population: None, or where the other people come from in `worst_case()`: the pair is then a `Study` with a
            person of that population, and one of strangers alone.

    A dataset is an array `(n, d)` of zeros and ones, or a `Study`.

    Guarantees:
        * Gaussian noise: mu-Gaussian DP with mu = sqrt(d) / (n s), exactly, where all columns of a record change.
        * Laplace noise: epsilon-DP with epsilon = d / (n b); the exact curve is that of d answers that move by 1/n.
        * No noise: no guarantee, rounded or not. The claim is epsilon = inf at every delta.
        * Rounding what has noise keeps its claim: it is post-processing.
        * Where all but one are strangers, the law of each mean is a mixture over the Binomial count of strangers.

    Raises:
        ParameterError: a value out of range; noise without a scale, or a scale without noise.

    Example:
        >>> private = ColumnMeans(100, 400, noise_multiplier=2.0)
        >>> private.noise_scale, private.guarantee().mu
        (0.4, 0.5)
        >>> ColumnMeans(100, 400, noise="none", decimals=1).guarantee().epsilon(1e-6)
        inf
    """

    n_records: int = 100
    n_attributes: int = 4
    _: KW_ONLY
    noise: str = "gaussian"
    scale: float | None = None
    noise_multiplier: float | None = None
    decimals: int | None = None
    population: Population | None = None
    relation: Relation = field(default=Relation.REPLACE_ONE, init=False)

    def __post_init__(self) -> None:
        whole(1, n_records=self.n_records, n_attributes=self.n_attributes)
        one_of(("none", "gaussian", "laplace"), noise=self.noise)
        given = {name: getattr(self, name) for name in ("scale", "noise_multiplier")}
        given = {name: value for name, value in given.items() if value is not None}
        if len(given) != (self.noise != "none"):
            wanted = (
                "neither scale nor noise_multiplier" if self.noise == "none" else "one of scale and noise_multiplier"
            )
            raise ParameterError(
                f"noise is {self.noise!r}: give {wanted}, but {' and '.join(given) or 'none'} is given.",
                argument=[*given, "noise"],
            )
        positive(**given)
        if self.decimals is not None:
            whole(0, decimals=self.decimals)
        if self.population is not None and not isinstance(self.population, Population):
            raise ParameterError(
                f"population must be None or a Population, such as Uniform(), but is {self.population!r}.",
                argument="population",
            )

    @property
    def sensitivity(self) -> float:
        """sqrt(d) / n for Gaussian noise, d / n for Laplace noise and none."""
        moved = math.sqrt(self.n_attributes) if self.noise == "gaussian" else self.n_attributes
        return moved / self.n_records

    @property
    def noise_scale(self) -> float:
        """Of the noise of each mean: s for Gaussian noise, b for Laplace noise; 0 without noise."""
        if self.noise == "none":
            return 0.0
        return self.scale if self.scale is not None else float(self.noise_multiplier or 0.0) * self.sensitivity

    @property
    def standard_deviation(self) -> float:
        """Of what is added to each mean, in units of the means: noise, and rounding as if it were uniform."""
        noise = self.noise_scale * (math.sqrt(2.0) if self.noise == "laplace" else 1.0)
        if self.decimals is None or (self.noise == "none" and 10**self.decimals % self.n_records == 0):
            return noise
        return math.hypot(noise, 10.0**-self.decimals / math.sqrt(12.0))

    def guarantee(self) -> Guarantee:
        """`GaussianDP`, `PureDP`, or nothing."""
        if self.noise == "none":
            return ApproximateDP(0.0, ALL_BUT_NOTHING, relation=self.relation)
        strength = self.sensitivity / self.noise_scale
        if self.noise == "gaussian":
            return GaussianDP(strength, relation=self.relation)
        return PureDP(strength, relation=self.relation)

    def exact_guarantee(self) -> Guarantee | None:
        """Of `worst_case()`; None where noise is rounded, and where most people are strangers."""
        if self.population is not None or (self.decimals is not None and self.noise != "none"):
            return None
        if self.noise == "laplace":
            one = Laplace(1.0 / (self.n_records * self.noise_scale), relation=self.relation)
            return Repeated(one, self.n_attributes).exact_guarantee()
        return self.guarantee()

    def worst_case(self) -> Neighbours:
        """People who are all zeros, of whom one is all ones on side 1; with a population, a study with one of its
        people, and one of strangers."""
        if self.population is None:
            d0 = np.zeros((self.n_records, self.n_attributes), dtype=np.uint8)
            d1 = d0.copy()
            d1[0] = 1
            return Neighbours(d0, d1, self.relation)
        frequencies = self.population.frequencies(self.n_attributes)
        person = draw_people(frequencies, 1, np.random.default_rng([self.population.seed, 1]))[0]
        return Neighbours(Study(frequencies), Study(frequencies, person), self.relation)

    def fitted_to(self, neighbours: Neighbours) -> Mechanism:
        """Itself, where the pair is of arrays that differ in a row, or of studies that differ in the person."""
        super().fitted_to(neighbours)
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
            raise NeighboursError("one side is a Study and the other an array: give two of a kind.")
        else:
            check_records(neighbours)
        return self

    def release(self, dataset: Dataset, size: int, rng: np.random.Generator) -> Outputs:
        """`size` vectors of means, shape `(size, n_attributes)`."""
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
        """Exact means of the columns of `people` `(n, d)`, shape `(d,)`."""
        return np.asarray(people.sum(axis=0, dtype=np.int64) / self.n_records)

    def output_law(self) -> LogDensity:
        """Its own: see `log_density`."""
        return self

    def log_density(self, outputs: Outputs, dataset: Dataset) -> NDArray[np.float64]:
        """Log density (without noise or with rounding: log probability) of each output, shape `(size,)`."""
        return np.asarray(self.column_log_density(outputs.values, dataset).sum(axis=1))

    def column_log_density(self, values: NDArray[np.float64], dataset: Dataset) -> Floats:
        """That of each mean by itself: of `values` `(size, n_attributes)`, the same shape. They are independent."""
        dataset = self._checked(dataset)
        if not isinstance(dataset, Study):
            return self._log_noise(values, np.broadcast_to(self.means(dataset), values.shape))
        centres = np.arange(self.n_records + 1) / self.n_records
        if self.noise == "none":
            return self._log_table(
                values, dataset, centres if self.decimals is None else np.round(centres, self.decimals)
            )
        found = np.empty(values.shape)
        step = max(1, CELLS // max(1, len(values)))
        for start in range(0, self.n_attributes, step):
            part = slice(start, start + step)
            masses = self._log_masses(dataset, part)
            if self.noise == "gaussian" and self.decimals is None:
                found[:, part] = self._log_polynomial(values[:, part], masses)
            else:
                found[:, part] = self._log_sum(values[:, part], masses)
        return found

    def _log_sum(self, values: Floats, log_masses: Floats) -> Floats:
        """Log of the sum over counts k of mass times density around k / n, largest term first taken out."""
        found = np.empty(values.shape)
        for j in range(values.shape[1]):
            centres = (np.arange(self.n_records + 1) / self.n_records)[:, None]
            each = self._log_noise(values[None, :, j], centres) + log_masses[:, j, None]
            found[:, j] = special.logsumexp(each, axis=0)
        return found

    def _log_polynomial(self, values: Floats, log_masses: Floats) -> Floats:
        """The same for Gaussian noise without an exponential for each k: with k0 the likeliest count, u = k - k0 and
        x = (value - k0 / n) / (n s^2), the sum is the density around k0 times the sum of c_u e^(u x), where c_u is the
        mass times e^(-u^2 / (2 n^2 s^2)): a polynomial in e^x, by Horner's rule.

        Where powers of e^x leave what floats hold, by the plain sum.
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
        """Of exact or rounded means, which take n + 1 values at most: `means[k]` where the count is k."""
        known, at = np.unique(means, return_inverse=True)
        table = np.full((len(known), self.n_attributes), -np.inf)
        np.logaddexp.at(table, at, self._log_masses(study, slice(None)))
        place = np.minimum(np.searchsorted(known, values), len(known) - 1)
        return np.where(known[place] == values, np.take_along_axis(table, place, axis=0), -np.inf)

    def _log_masses(self, study: Study, columns: slice) -> Floats:
        """Log probability of each count 0..n in each of the columns, shape `(n + 1, columns)`."""
        n, p = study.strangers(self.n_records), study.frequencies[columns]
        shift = np.zeros(len(p)) if study.person is None else study.person[columns]
        drawn = np.arange(self.n_records + 1.0)[:, None] - shift
        inside = (drawn >= 0) & (drawn <= n)
        k = np.where(inside, drawn, 0.0)
        ways = special.gammaln(n + 1.0) - special.gammaln(k + 1.0) - special.gammaln(n - k + 1.0)
        return np.where(inside, ways + special.xlogy(k, p) + special.xlog1py(n - k, -p), -np.inf)

    def _log_noise(self, values: Floats, centres: Floats) -> Floats:
        """Log density of `values` around exact means, or log probability of what is rounded to them."""
        if self.noise == "none":
            exact = centres if self.decimals is None else np.round(centres, self.decimals)
            return np.where(values == exact, 0.0, -np.inf)
        z = np.subtract(values, centres) / self.noise_scale
        if self.decimals is None:
            if self.noise == "laplace":
                return np.asarray(-np.abs(z) - math.log(2.0 * self.noise_scale))
            return np.asarray(-0.5 * z * z - math.log(self.noise_scale * math.sqrt(2.0 * math.pi)))
        half = 0.5 * 10.0**-self.decimals / self.noise_scale
        z = -np.abs(z)
        upper, lower = (_log_cdf(self.noise, z + step) for step in (half, -half))
        return np.asarray(upper + np.log(-np.expm1(lower - upper)))

    def _checked(self, dataset: Dataset) -> Study | NDArray[np.uint8]:
        """The dataset; raises `ParameterError` unless it is a study, or n people, with d columns."""
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


def _log_cdf(noise: str, z: Floats) -> Floats:
    """Log distribution function of standard noise."""
    if noise == "gaussian":
        return np.asarray(special.log_ndtr(z))
    with np.errstate(over="ignore"):
        return np.where(z < 0.0, z - math.log(2.0), np.log1p(-0.5 * np.exp(-np.maximum(z, 0.0))))
