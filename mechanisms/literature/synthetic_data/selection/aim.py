"""AIM: each round measures the marginal of a workload that the current model answers worst."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import combinations
from typing import Annotated, NamedTuple

import numpy as np
from scipy.special import log_softmax

from ....accounting import ConcentratedDP
from ....core import Bools, Floats, Guarantee, Ints, OpenUnit, ParameterError, Positive, Relation, at_least, whole
from ....noise.queries.domain import Domain
from ..base import (
    CodedTable,
    FittedDistribution,
    Generator,
    Marginal,
    MarginalSelection,
    NoisyMarginal,
    checked_marginals,
)
from ..generators.junction_tree import model_size

HALF_NORMAL = math.sqrt(2.0 / math.pi)
"""Expected absolute value of a standard normal number."""
ROUNDING_FACTOR = 1.0 - 1e-9
"""Factor that leaves room for rounding in comparisons of the remaining budget and of the model size.

Costs that are read from a transcript differ in their last digits; a different decision would give an observed
transcript probability zero.
"""


@dataclass(frozen=True)
class AIM(MarginalSelection):
    """AIM: adaptive choice of marginals, with a budget that is spent faster when rounds give little information.

    1. Each attribute is measured.
    2. In each round, the exponential mechanism chooses among all subsets of the marginals of the workload, by

           weight (|exact counts - counts of the model|_1 - sqrt(2/pi) standard deviation * n_cells),

       the error that a measurement would remove, minus the noise that it would add. The weight of a marginal is the
       total number of attributes that it shares with those of the workload. Marginals that would make the model too
       large are excluded; the limit grows with the spent budget.
    3. The marginal is measured, and the model is fitted again. If its counts moved by less than expected from noise,
       the noise is halved and the epsilon of a choice doubled: the same share of a larger cost.
    4. A remainder that is not enough for two more rounds is spent in one last round.

    (McKenna, Mullins, Sheldon and Miklau 2022, algorithms 2 to 4.)

    Args:
        rho: the claim, > 0.
        workload: marginals to be accurate; a number k: all marginals of k attributes.
        rounds: number of parts of rho, each the initial cost of a round; larger than the number of attributes. The
            actual number of rounds can be slightly larger, see `most_rounds`. None: 16 times the number of attributes.
        measuring: share of the cost of a round that is spent on measuring, between 0 and 1.
        largest_model: size limit in megabytes once the whole budget is spent, > 0.
        relation: "add_remove", or "replace_one", under which all sensitivities are larger: sqrt(2) times in L2, twice
            in the scores, which are L1 distances.

    Guarantees:
        * rho-concentrated DP: the costs of a round depend only on earlier outputs and add up to at most rho
          (a privacy filter: Feldman and Zrnic 2021); a choice with epsilon costs epsilon^2 / 8.
        * The law of the transcript is known if the generator is deterministic.

    The transcript lists the measurements round by round: the number of the candidate, counted from 1 (0: no such
    round), the standard deviation of its noise, and its noisy counts, padded with zeros to the longest marginal.

    Example:
        >>> domain = Domain({"sex": 2, "race": 5, "income": 2})
        >>> selection = AIM(rho=0.1, workload=2)
        >>> selection.candidates(domain)[:4]
        (('sex',), ('race',), ('income',), ('sex', 'race'))
        >>> selection.weights(domain).tolist()
        [2.0, 2.0, 2.0, 4.0, 4.0, 4.0]
    """

    rho: Positive
    _: KW_ONLY
    workload: tuple[Marginal, ...] | int = 3
    rounds: Annotated[int, at_least(2)] | None = None
    measuring: OpenUnit = 0.9
    largest_model: Positive = 80.0
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.workload, int):
            whole(1, workload=self.workload)
        else:
            names = tuple((marginal,) if isinstance(marginal, str) else tuple(marginal) for marginal in self.workload)
            object.__setattr__(self, "workload", names)

    def wanted(self, domain: Domain) -> tuple[Marginal, ...]:
        """Return the marginals of the workload."""
        if isinstance(self.workload, int):
            return tuple(combinations(domain.names, min(self.workload, len(domain.names))))
        return checked_marginals(domain, self.workload)

    def candidates(self, domain: Domain) -> tuple[Marginal, ...]:
        """Return each attribute, then all larger subsets of the marginals of the workload, the small ones first."""
        position = {name: i for i, name in enumerate(domain.names)}
        subsets = {
            tuple(sorted(subset, key=position.__getitem__))
            for marginal in self.wanted(domain)
            for k in range(2, len(marginal) + 1)
            for subset in combinations(marginal, k)
        }
        larger = sorted(subsets, key=lambda subset: (len(subset), [position[name] for name in subset]))
        if self.n_rounds(domain) <= len(domain.names):
            raise ParameterError(
                argument="rounds",
                value=self.rounds,
                allowed=f"be more than the number of attributes, {len(domain.names)}, each of which takes one round",
            )
        return (*((name,) for name in domain.names), *larger)

    def weights(self, domain: Domain) -> Floats:
        """Return the total number of attributes that each candidate shares with the marginals of the workload."""
        workload = self.wanted(domain)
        return np.array(
            [float(sum(len({*candidate} & {*names}) for names in workload)) for candidate in self.candidates(domain)]
        )

    def n_rounds(self, domain: Domain) -> int:
        """Return the number of parts of rho."""
        return 16 * len(domain.names) if self.rounds is None else self.rounds

    def most_rounds(self, domain: Domain) -> int:
        """Return the largest possible number of rounds, including those of the single attributes.

        Rounds of single attributes need no choice and save its share; if no round costs more than the first, these
        savings allow extra rounds.
        """
        return self.n_rounds(domain) + math.floor((1.0 - self.measuring) * len(domain.names) + 1e-9)

    def deviation(self, cost: Floats) -> Floats:
        """Return the standard deviation of the noise of a cell in a round that costs `cost` in total."""
        return np.sqrt(self.sensitivity / (2.0 * self.measuring * cost))

    def choice_epsilon(self, deviation: Floats) -> Floats:
        """Return the epsilon of the choice in a round with this noise."""
        cost = self.sensitivity / (2.0 * self.measuring * deviation**2)
        return np.sqrt(8.0 * (1.0 - self.measuring) * cost)

    def guarantee(self, domain: Domain) -> Guarantee:
        """Return `ConcentratedDP(rho)`."""
        return ConcentratedDP(self.rho, relation=self.relation)

    def measure(
        self, table: CodedTable, generator: Generator, size: int, rng: np.random.Generator
    ) -> tuple[NoisyMarginal, ...]:
        """Return the measurements of all runs; runs that have spent their budget wait for the others."""
        domain = table.domain
        setting = AIMCandidates.of(self, domain)
        collected, measurements = AveragedMeasurements(domain, setting.candidates, size), []
        cost = np.full(size, self.rho / self.n_rounds(domain))
        spent = np.zeros(size)
        all_runs = np.arange(size)
        for index in range(len(domain.names)):
            measurements.append(self._measured(table, setting, index, all_runs, self.deviation(cost), rng))
            collected.add(index, all_runs, measurements[-1])
            spent += self.measuring * cost
        active = all_runs
        model = self._fit(collected, active, table, generator, rng)
        while True:
            remaining, charge = self.rho - spent[active], self.accounted_cost(cost[active], domain)
            last = remaining < ROUNDING_FACTOR * 2.0 * charge
            cost[active] = np.where(last, remaining, cost[active])
            spent[active] += np.where(last, remaining, charge)
            before = setting.counts(model)
            log_odds = self.log_odds(table, setting, before, collected, active, cost[active], spent[active])
            chosen = np.argmax(log_odds + rng.gumbel(size=log_odds.shape), axis=1)
            deviation = self.deviation(cost)
            for index in np.unique(chosen):
                runs = active[chosen == index]
                measurements.append(self._measured(table, setting, index, runs, deviation[runs], rng))
                collected.add(index, runs, measurements[-1])
            active, chosen, before = active[~last], chosen[~last], [counts[~last] for counts in before]
            if not len(active):
                break
            model = self._fit(collected, active, table, generator, rng)
            is_small = setting.moved(before, setting.counts(model), chosen) <= (
                HALF_NORMAL * deviation[active] * setting.n_cells[chosen]
            )
            cost[active] *= np.where(is_small, 4.0, 1.0)
        return tuple(measurements)

    def accounted_cost(self, cost: Floats, domain: Domain) -> Floats:
        """Return the amount subtracted from the budget for a round that costs `cost`, shape `(size,)`."""
        return cost

    def log_odds(
        self,
        table: CodedTable,
        setting: AIMCandidates,
        counts: Sequence[Floats],
        collected: AveragedMeasurements,
        runs: Ints,
        cost: Floats,
        spent: Floats,
    ) -> Floats:
        """Return the log probability of each candidate, `(len(runs), n_candidates)`; -inf if it is too large.

        Args:
            table: the data.
            setting: candidates and weights.
            counts: counts of the model, `(len(runs), n_cells)` for each candidate.
            collected: measurements so far.
            runs: numbers of the runs.
            cost: cost of the round, shape `(len(runs),)`.
            spent: total cost, including this round, shape `(len(runs),)`.
        """
        deviation = self.deviation(cost)
        distance = np.stack(
            [
                np.abs(table.marginal(candidate) - model).sum(axis=1)
                for candidate, model in zip(setting.candidates, counts, strict=True)
            ],
            axis=1,
        )
        scores = setting.weights * (distance - HALF_NORMAL * deviation[:, None] * setting.n_cells)
        allowed = setting.allowed(collected, runs, self.largest_model * spent / self.rho)
        largest = np.where(allowed, setting.weights, 0.0).max(axis=1)
        rate = self.choice_epsilon(deviation) / (2.0 * self.sensitivity * largest)
        return np.asarray(log_softmax(np.where(allowed, rate[:, None] * scores, -np.inf), axis=1))

    def _fit(
        self,
        collected: AveragedMeasurements,
        runs: Ints,
        table: CodedTable,
        generator: Generator,
        rng: np.random.Generator,
    ) -> FittedDistribution:
        n_records = None if self.relation is Relation.ADD_REMOVE else len(table)
        return generator.fit(table.domain, collected.measured(runs, generator), rng, n_records=n_records)

    def _measured(
        self,
        table: CodedTable,
        setting: AIMCandidates,
        index: int,
        runs: Ints,
        deviation: Floats,
        rng: np.random.Generator,
    ) -> NoisyMarginal:
        counts = table.marginal(setting.candidates[index])
        noise = deviation[:, None] * rng.standard_normal((len(runs), len(counts)))
        return NoisyMarginal(setting.candidates[index], counts + noise, deviation, runs=runs)

    def transcript(self, domain: Domain, measured: Sequence[NoisyMarginal], size: int) -> Floats:
        """Return one row per run, as the class describes: `(size, most_rounds * (2 + longest marginal))`."""
        setting = AIMCandidates.of(self, domain)
        rows = np.zeros((size, self.most_rounds(domain), 2 + int(setting.n_cells.max())))
        n_done = np.zeros(size, dtype=np.int64)
        for measurement in measured:
            runs = measurement.run_numbers
            rows[runs, n_done[runs], 0] = 1 + setting.candidates.index(measurement.attributes)
            rows[runs, n_done[runs], 1] = measurement.deviations
            rows[runs, n_done[runs], 2 : 2 + measurement.answers.shape[1]] = measurement.answers
            n_done[runs] += 1
        return rows.reshape(size, -1)

    def has_density(self, generator: Generator) -> bool:
        return generator.deterministic

    def log_density(self, transcripts: Floats, table: CodedTable, generator: Generator) -> Floats:
        """Return the sum of the log probabilities of each choice given earlier outputs and of the noise."""
        setting = AIMCandidates.of(self, table.domain)
        rounds = transcripts.reshape(len(transcripts), self.most_rounds(table.domain), -1)
        collected = AveragedMeasurements(table.domain, setting.candidates, len(rounds))
        log_density, spent = np.zeros(len(rounds)), np.zeros(len(rounds))
        unused_rng = np.random.default_rng(0)
        for number in range(rounds.shape[1]):
            active = np.flatnonzero(rounds[:, number, 0] > 0)
            if not len(active):
                break
            chosen = rounds[active, number, 0].astype(np.int64) - 1
            deviation = rounds[active, number, 1]
            cost = self.sensitivity / (2.0 * self.measuring * deviation**2)
            if number < len(table.domain.names):
                spent[active] += self.measuring * cost
            else:
                remaining, charge = self.rho - spent[active], self.accounted_cost(cost, table.domain)
                spent[active] += np.where(remaining < ROUNDING_FACTOR * 2.0 * charge, remaining, charge)
                counts = setting.counts(self._fit(collected, active, table, generator, unused_rng))
                odds = self.log_odds(table, setting, counts, collected, active, cost, spent[active])
                log_density[active] += odds[np.arange(len(active)), chosen]
            for index in np.unique(chosen):
                rows = chosen == index
                exact = table.marginal(setting.candidates[index])
                answers, noise = rounds[active[rows], number, 2 : 2 + len(exact)], deviation[rows]
                scaled = (answers - exact) / noise[:, None]
                log_density[active[rows]] += -0.5 * (scaled * scaled).sum(axis=1)
                log_density[active[rows]] -= len(exact) * np.log(noise * math.sqrt(2.0 * math.pi))
                collected.add(index, active[rows], NoisyMarginal(setting.candidates[index], answers, noise))
        return log_density


class AIMCandidates(NamedTuple):
    """Constants of a selection for one domain.

    Args:
        domain: domain of the records.
        candidates: marginals to choose from.
        weights: weight of each candidate, shape `(n_candidates,)`.
        n_cells: number of cells of each candidate, shape `(n_candidates,)`.
    """

    domain: Domain
    candidates: tuple[Marginal, ...]
    weights: Floats
    n_cells: Ints

    @classmethod
    def of(cls, selection: AIM, domain: Domain) -> AIMCandidates:
        candidates = selection.candidates(domain)
        n_cells = np.array([domain.project(candidate).n_cells for candidate in candidates])
        return cls(domain, candidates, selection.weights(domain), n_cells)

    def counts(self, model: FittedDistribution) -> list[Floats]:
        """Return the counts of every candidate, shape `(size, n_cells)` each."""
        return [model.marginal(candidate) for candidate in self.candidates]

    def moved(self, before: Sequence[Floats], after: Sequence[Floats], chosen: Ints) -> Floats:
        """Return the L1 distance between the counts of the chosen marginal in two models, shape `(size,)`."""
        distances = np.empty(len(chosen))
        for index in np.unique(chosen):
            rows = chosen == index
            distances[rows] = np.abs(after[index][rows] - before[index][rows]).sum(axis=1)
        return distances

    def allowed(self, collected: AveragedMeasurements, runs: Ints, limit: Floats) -> Bools:
        """Return a mask of the candidates that fit in the model or are already in it, `(len(runs), n_candidates)`.

        Args:
            collected: measurements so far.
            runs: numbers of the runs.
            limit: size limit in megabytes, shape `(len(runs),)`.
        """
        limit = limit / ROUNDING_FACTOR
        if model_size(self.domain, frozenset({self.domain.names})) <= limit.min():
            return np.ones((len(runs), len(self.candidates)), dtype=np.bool_)
        mask = np.empty((len(runs), len(self.candidates)), dtype=np.bool_)
        for row, run in enumerate(runs):
            cliques = collected.cliques(int(run))
            for index, candidate in enumerate(self.candidates):
                included = any({*candidate} <= {*clique} for clique in cliques)
                mask[row, index] = included or model_size(self.domain, cliques | {candidate}) <= limit[row]
        return mask


class AveragedMeasurements:
    """Precision-weighted average of all measurements of each candidate in each run, which is sufficient for a fit.

    Args:
        domain: domain of the records.
        candidates: marginals that may be measured.
        size: number of runs.
    """

    def __init__(self, domain: Domain, candidates: Sequence[Marginal], size: int) -> None:
        self._candidates = tuple(candidates)
        self._precisions = np.zeros((size, len(self._candidates)))
        self._answers: dict[int, Floats] = {}
        self._n_cells = [domain.project(candidate).n_cells for candidate in self._candidates]
        self._size = size

    def add(self, index: int, runs: Ints, measured: NoisyMarginal) -> None:
        """Add the measurements of candidate number `index` in `runs`."""
        averages = self._answers.setdefault(index, np.zeros((self._size, self._n_cells[index])))
        new = 1.0 / measured.deviations**2
        total = self._precisions[runs, index] + new
        averages[runs] += (new / total)[:, None] * (measured.answers - averages[runs])
        self._precisions[runs, index] = total

    def cliques(self, run: int) -> frozenset[Marginal]:
        """Return the marginals that one run has measured."""
        return frozenset(self._candidates[index] for index in np.flatnonzero(self._precisions[run]))

    def measured(self, runs: Ints, generator: Generator) -> list[NoisyMarginal]:
        """Return the measurements of `runs`, renumbered from 0.

        For a generator that holds the whole domain, missing measurements are included with infinite noise, so that all
        runs can be fitted together, whatever they chose.
        """
        measurements = []
        for index, answers in sorted(self._answers.items()):
            precisions = self._precisions[runs, index]
            rows = np.flatnonzero(precisions)
            if not len(rows):
                continue
            name = self._candidates[index]
            if generator.holds_domain or len(rows) == len(runs):
                with np.errstate(divide="ignore"):
                    measurements.append(NoisyMarginal(name, answers[runs], 1.0 / np.sqrt(precisions)))
            else:
                measurements.append(
                    NoisyMarginal(name, answers[runs[rows]], 1.0 / np.sqrt(precisions[rows]), runs=rows)
                )
        return measurements
