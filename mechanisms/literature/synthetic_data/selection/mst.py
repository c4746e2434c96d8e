"""MST: every attribute, then the pairs of a spanning tree chosen by the strength of dependence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from ....accounting import ConcentratedDP, ExactDP, GaussianDP, compose
from ....core import Bools, Flag, Floats, Guarantee, Ints, Neighbours, NonNegative, ParameterError, Positive, Relation
from ....noise.queries.domain import Domain
from ..base import CodedTable, Generator, Marginal, MarginalSelection, NoisyMarginal
from . import spanning_trees as trees
from .aim import HALF_NORMAL
from .compression import IndependentModel

MAX_WORST_CASE_RECORDS = 10**6
"""Largest number of records that a worst case has."""
RARE_DEVIATIONS = 3.0
"""Values with a noisy count below this many standard deviations of its noise are merged."""


@dataclass(frozen=True)
class MST(MarginalSelection):
    """MST: selection by a noisy maximum spanning tree of the dependences between attributes.

    1. Each attribute is measured, and its rare values are merged into one.
    2. The score of a pair is the L1 distance between its exact counts and those of the model with independent
       attributes, minus a penalty: the error that measuring the pair would remove, minus the noise that it would add. A
       spanning tree is drawn by Kruskal's algorithm, each edge by the exponential mechanism.
    3. The pairs of the tree are measured.

    Each step takes a third of rho, and all cells of a step have noise of the same standard deviation. (McKenna, Miklau
    and Sheldon 2021, algorithm 2, which has no penalty; McKenna, Mullins, Sheldon and Miklau 2022 have it in AIM.)

    Args:
        rho: the claim, > 0.
        shares: shares of rho for the three steps, > 0, which add up to 1.
        penalty: >= 0; this multiple of the expected L1 norm of the noise of the pair, sqrt(2/pi) standard deviation *
            n_cells, is subtracted from its score. 0: the score of the paper, which prefers pairs of many cells.
        compress: True to merge rare values.
        relation: "add_remove", or "replace_one", under which all sensitivities are larger: sqrt(2) times in L2, twice
            in the scores, which are L1 distances.

    Guarantees:
        * rho-concentrated DP, by composition: a score moves by at most 1 (2 under "replace_one"), as model and penalty
          depend only on earlier measurements; each of d - 1 choices by the exponential mechanism with epsilon costs
          epsilon^2 / 8.
        * The law of the transcript is known: scores are a function of the data and of earlier measurements.

    The transcript lists the round in which each pair was chosen (1, 2, ...; 0: not chosen), then the noisy counts of
    each attribute, then those of each pair, over the whole domain: the counts of merged values are shared evenly.

    Example:
        >>> domain = Domain({"sex": 2, "race": 5, "income": 2})
        >>> selection = MST(rho=0.1)
        >>> [round(number, 6) for number in selection.noise(domain)]
        [6.708204, 0.182574, 5.477226]
        >>> print(selection.guarantee(domain))
        ConcentratedDP(rho=0.1)
    """

    rho: Positive
    _: KW_ONLY
    shares: tuple[float, float, float] = (1 / 3, 1 / 3, 1 / 3)
    penalty: NonNegative = 1.0
    compress: Flag = True
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "shares", tuple(map(float, self.shares)))
        if len(self.shares) != 3 or min(self.shares) <= 0 or not math.isclose(sum(self.shares), 1.0):
            raise ParameterError(
                argument="shares", value=self.shares, allowed="be three numbers > 0 that add up to 1, one a step"
            )

    def candidates(self, domain: Domain) -> tuple[Marginal, ...]:
        """Return each attribute, then each pair."""
        names = domain.names
        if len(names) < 2:
            raise ParameterError(
                argument="domain", value=names, allowed="have at least two attributes for a spanning tree"
            )
        ends = trees.pairs(len(names))
        return (*((name,) for name in names), *((names[a], names[b]) for a, b in ends))

    def noise(self, domain: Domain) -> MSTNoise:
        """Return the noise of each step."""
        d = len(domain.names)
        sensitivity = self.sensitivity
        one_way_rho, choice_rho, two_way_rho = (self.rho * share for share in self.shares)
        return MSTNoise(
            one_way=math.sqrt(sensitivity * d / (2.0 * one_way_rho)),
            rate=math.sqrt(8.0 * choice_rho / (d - 1)) / (2.0 * sensitivity),
            two_way=math.sqrt(sensitivity * (d - 1) / (2.0 * two_way_rho)),
        )

    def guarantee(self, domain: Domain) -> Guarantee:
        """Return `ConcentratedDP(rho)`."""
        return ConcentratedDP(self.rho, relation=self.relation)

    def worst_case(self, domain: Domain) -> Neighbours:
        """Return two clusters of attributes, and a record that supports their dependences: see `_clustered_records`.

        The number of records is so large that no value is rare, and that noise in the counts of the attributes hardly
        moves the scores; a few more records of value 0 make it about equally likely that the first edge joins
        attributes 0 and 1. If attributes have different numbers of values, a penalty decides between pairs, and choices
        carry less information.
        """
        if len(domain.names) < 3 or min(domain.shape) < 2:
            return super().worst_case(domain)
        n_more = round(math.log(2.0) / (2.0 * self.noise(domain).rate))
        return worst_case_clusters(
            domain.shape, self.relation, min(MAX_WORST_CASE_RECORDS, self._enough(domain)), n_more
        )

    def exact_guarantee(self, domain: Domain) -> Guarantee | None:
        """Return the curve on `worst_case(domain)`; None for more than five attributes, or if it has too few records.

        The curve is exact for the noise of both measuring steps, and approximate for the choices: noise in the counts
        of the attributes is ignored, which changes their log probabilities by at most about rate / 100.
        """
        if not 3 <= len(domain.names) <= 5 or min(domain.shape) < 2 or self._enough(domain) > MAX_WORST_CASE_RECORDS:
            return None
        pair, noise = self.worst_case(domain), self.noise(domain)
        tables = [CodedTable.of(domain, pair.side(side)) for side in (0, 1)]
        law0, law1 = (np.exp(self.log_choices(table, noise.rate)) for table in tables)
        parts: list[Guarantee] = [
            GaussianDP(math.sqrt(2.0 * self.rho * (self.shares[0] + self.shares[2])), relation=self.relation)
        ]
        if not np.allclose(law0, law1, rtol=1e-12, atol=0.0):
            parts.append(ExactDP(law0, law1, relation=self.relation))
        return compose(parts, accounting="privacy-loss", fixed_sides=True) if len(parts) > 1 else parts[0]

    def log_choices(self, table: CodedTable, rate: float) -> Floats:
        """Return the log probability of each sequence of `spanning_trees.law` if attributes had noise-free counts."""
        names = table.domain.names
        chosen = trees.law(len(names))
        model = self.model([table.marginal((name,))[None] for name in names], table)
        scores = np.broadcast_to(model.scores(table), (len(chosen), len(names) * (len(names) - 1) // 2))
        return self.log_chosen(scores, chosen, rate)

    def _enough(self, domain: Domain) -> int:
        """Return a number of records with which noise in attribute counts does not matter, and no value is rare."""
        deviation, n_values = self.noise(domain).one_way, max(domain.shape)
        return math.ceil(n_values * max(200.0 * deviation**2, 24.0 * deviation))

    def measure(
        self, table: CodedTable, generator: Generator, size: int, rng: np.random.Generator
    ) -> tuple[NoisyMarginal, ...]:
        domain, noise = table.domain, self.noise(table.domain)
        candidates = self.candidates(domain)
        d = len(domain.names)
        one_way_answers = [_noisy(table.marginal(candidate), size, noise.one_way, rng) for candidate in candidates[:d]]
        model = self.model(one_way_answers, table)
        chosen = self.choose(model.scores(table), noise.rate, rng)
        measurements = [
            NoisyMarginal(candidate, answers, noise.one_way)
            for candidate, answers in zip(candidates, one_way_answers, strict=False)
        ]
        for round_ in range(d - 1):
            for edge in np.unique(chosen[:, round_]):
                runs = np.flatnonzero(chosen[:, round_] == edge)
                pair = candidates[d + edge]
                answers = model.measured(table.marginal(pair), edge, runs, noise.two_way, rng)
                measurements.append(NoisyMarginal(pair, answers, noise.two_way, runs=runs))
        return tuple(measurements)

    def choose(self, scores: Floats, rate: float, rng: np.random.Generator) -> Ints:
        """Return the edges of the tree of each run, round by round."""
        return trees.draw(scores, rate, rng)

    def log_chosen(self, scores: Floats, chosen: Ints, rate: float) -> Floats:
        """Return the log probability of a result of `choose`, shape `(size,)`."""
        return trees.log_probability(scores, chosen, rate)

    def model(self, alone: Sequence[Floats], table: CodedTable) -> IndependentModel:
        """Return the model with independent attributes, fitted to their noisy counts."""
        domain = table.domain
        masks = [self.kept(answers, table, position) for position, answers in enumerate(alone)]
        fixed = None if self.relation is Relation.ADD_REMOVE else float(max(1, len(table)))
        penalty = self.penalty * HALF_NORMAL * self.noise(domain).two_way
        return IndependentModel.fitted(alone, masks, domain, fixed, penalty)

    def kept(self, answers: Floats, table: CodedTable, position: int) -> Bools:
        """Return a mask of the values of attribute number `position` that are not merged, shape `(size, n_values)`."""
        threshold = RARE_DEVIATIONS * self.noise(table.domain).one_way
        return answers >= threshold if self.compress else np.ones(answers.shape, dtype=np.bool_)

    def transcript(self, domain: Domain, measured: Sequence[NoisyMarginal], size: int) -> Floats:
        """Return one row per run, as the class describes: `(size, n_pairs + n_cells of all attributes and pairs)`."""
        candidates = self.candidates(domain)
        d = len(domain.names)
        rounds = np.zeros((size, len(candidates) - d))
        answers = [np.zeros((size, domain.project(candidate).n_cells)) for candidate in candidates]
        n_chosen = np.zeros(size)
        for measurement in measured:
            index = candidates.index(measurement.attributes)
            runs = measurement.run_numbers
            answers[index][runs] = measurement.answers
            if index >= d:
                n_chosen[runs] += 1.0
                rounds[runs, index - d] = n_chosen[runs]
        return np.concatenate([rounds, *answers], axis=1)

    def has_density(self, generator: Generator) -> bool:
        return True

    def log_density(self, transcripts: Floats, table: CodedTable, generator: Generator) -> Floats:
        """Return the log density of the attribute noise, of the choices given it, and of the pair noise given both."""
        domain, noise = table.domain, self.noise(table.domain)
        candidates = self.candidates(domain)
        d = len(domain.names)
        rounds, *answers = _parts(transcripts, domain, candidates)
        chosen = np.argsort(-rounds, axis=1, kind="stable")[:, : d - 1][:, ::-1]
        log_density = np.zeros(len(transcripts))
        for candidate, noisy in zip(candidates[:d], answers[:d], strict=True):
            log_density += _log_normal(noisy - table.marginal(candidate), noise.one_way).sum(axis=1)
        model = self.model(answers[:d], table)
        log_density += self.log_chosen(model.scores(table), chosen, noise.rate)
        for edge, candidate in enumerate(candidates[d:]):
            runs = np.flatnonzero(rounds[:, edge] > 0)
            noisy = model.compressed(answers[d + edge][runs], edge, runs)
            exact = model.compressed(table.marginal(candidate), edge, runs)
            exists = model.exists(edge, runs)
            log_density[runs] += np.where(exists, _log_normal(noisy - exact, noise.two_way), 0.0).sum(axis=(1, 2))
        return log_density


class MSTNoise(NamedTuple):
    """Noise of the three steps.

    Args:
        one_way: standard deviation of the count of a value.
        rate: rate of the exponential mechanism: epsilon of one choice / (2 sensitivity).
        two_way: standard deviation of the count of a pair of values.
    """

    one_way: float
    rate: float
    two_way: float


def _noisy(counts: Floats, size: int, standard_deviation: float, rng: np.random.Generator) -> Floats:
    return counts + standard_deviation * rng.standard_normal((size, len(counts)))


def _log_normal(noise: Floats, standard_deviation: float) -> Floats:
    scaled = noise / standard_deviation
    return -0.5 * scaled * scaled - math.log(standard_deviation * math.sqrt(2.0 * math.pi))


def _parts(transcripts: Floats, domain: Domain, candidates: Sequence[Marginal]) -> list[Floats]:
    """Return the rounds, and the answers of each candidate."""
    n_pairs = len(candidates) - len(domain.names)
    ends = np.cumsum([n_pairs, *(domain.project(candidate).n_cells for candidate in candidates)])
    return np.split(transcripts, ends[:-1], axis=1)


def _clustered_records(shape: Sequence[int], n_records: int, n_more: int) -> Ints:
    """Return data on which one record gives the most information about the tree, `(about n_records, n_attributes)`.

    Attributes 0 and 1 are one cluster, the others the second one: attributes are positively dependent within a cluster
    and negatively across clusters, all equally strongly. The record of value 0 everywhere then raises the scores of all
    pairs within a cluster by one, and lowers those across by one. Each attribute is 0 for half of the records, so noise
    in the counts of single attributes moves the scores only by the product of two small numbers: choices and counts are
    independent up to this product.

    Args:
        shape: number of values of each attribute, >= 2 each.
        n_records: raised until the share of every cell is a whole number of records.
        n_more: number of added records of value 0 everywhere.
    """
    d = len(shape)
    signs = np.array(list(product((1, -1), repeat=d)))
    cluster = np.where(np.arange(d) < 2, 1, -1)
    ends = trees.pairs(d)
    steps = 2 ** math.ceil(math.log2(len(ends) + 1))
    agreement = (cluster[ends].prod(axis=1) * signs[:, ends[:, 0]] * signs[:, ends[:, 1]]).sum(axis=1)
    cells = np.repeat(signs, (steps + agreement) * math.ceil(n_records / (steps * len(signs))), axis=0)
    records = (cells < 0).astype(np.int64)
    for position, n_values in enumerate(shape):
        others = np.flatnonzero(records[:, position])
        turns = np.arange(len(others)) // math.prod(n - 1 for n in shape[:position])
        records[others, position] = 1 + turns % (n_values - 1)
    return np.concatenate([records, np.zeros((n_more, d), dtype=np.int64)])


def worst_case_clusters(shape: Sequence[int], relation: Relation, n_records: int, n_more: int) -> Neighbours:
    """Return `_clustered_records` with a record of zeros, added or in place of a record of ones."""
    records = _clustered_records(shape, n_records, n_more)
    zeros = np.zeros((1, len(shape)), dtype=np.int64)
    if relation is Relation.ADD_REMOVE:
        return Neighbours(records, np.concatenate([records, zeros]), relation)
    ones = int(np.flatnonzero((records == 1).all(axis=1))[0])
    return Neighbours(records, np.concatenate([np.delete(records, ones, axis=0), zeros]), relation)
