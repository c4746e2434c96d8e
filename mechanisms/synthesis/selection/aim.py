"""AIM: round by round, the marginal of a workload that the current model answers worst is measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from ...errors import ParameterError
from ...guarantees import ConcentratedDP
from ...guarantees.base import Guarantee
from ...queries.domain import Domain
from ...relation import Relation
from ...validation import open_unit, positive, whole
from ..base import Floats, Generator, Ints, Marginal, Measured, Selection, Synthesised, Table, checked_marginals
from .collected import Collected
from .model_size import model_size

Flags = NDArray[np.bool_]
HALF_NORMAL = math.sqrt(2.0 / math.pi)
"""Expected distance of a standard normal number from zero."""
LESS = 1.0 - 1e-9
"""What is left of the budget, and the size of a model, are compared with room for rounding: costs that are read from a
transcript differ in their last digits, and a law that decided otherwise would call what happened impossible."""


@dataclass(frozen=True)
class AIM(Selection):
    """AIM: adaptive choice of marginals, with a budget that is spent faster when little is learned.

    1. All attributes are measured alone.
    2. In each round, the exponential mechanism chooses among all subsets of the marginals of the workload, by

           weight (|exact counts - counts of the model|_1 - sqrt(2/pi) standard deviation * n_cells),

       the error that measuring it would mend, less the noise that would come with it. The weight of a marginal is how
       many attributes it shares with those of the workload, in all. Marginals with which the model would be too large
       are left out; the limit grows with the budget that is spent.
    3. The marginal is measured, and the model is fitted again. Where its counts moved by less than noise alone would
       move them, the noise is halved and the epsilon of a choice doubled: the same share of a larger cost.
    4. What is left when it is not enough for two more rounds is spent in a last one.

    (McKenna, Mullins, Sheldon and Miklau 2022, algorithms 2 to 4.)

    Args:
        rho: the claim, > 0.
        workload: marginals that shall be right; a number k: all of k attributes.
        rounds: into how many parts rho is cut, each the cost of a round as it begins; more than attributes. A few
            rounds more may come of them, see `most_rounds`. None: 16 times as many as attributes.
        measuring: share of the cost of a round that goes into measuring, between 0 and 1.
        largest_model: in megabytes, once the whole budget is spent, > 0.
        relation: "add_remove", or "replace_one", under which all sensitivities are larger: sqrt(2) times in L2, twice
            in the scores, which are L1 distances.

    Guarantees:
        * rho-concentrated DP: the costs of a round are chosen by what was published before and add up to at most rho
          (a privacy filter: Feldman and Zrnic 2021); a choice of epsilon costs epsilon^2 / 8.
        * The law of the transcript is known where the generator draws nothing.

    What was measured stands in the transcript round by round: the number of the candidate, from 1 on (0: no such
    round), the standard deviation of its noise, and its noisy counts, followed by zeros up to the longest of all.

    Example:
        >>> domain = Domain({"sex": 2, "race": 5, "income": 2})
        >>> selection = AIM(rho=0.1, workload=2)
        >>> selection.candidates(domain)[:4]
        (('sex',), ('race',), ('income',), ('sex', 'race'))
        >>> selection.weights(domain).tolist()
        [2.0, 2.0, 2.0, 4.0, 4.0, 4.0]
    """

    rho: float
    _: KW_ONLY
    workload: tuple[Marginal, ...] | int = 3
    rounds: int | None = None
    measuring: float = 0.9
    largest_model: float = 80.0
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        positive(rho=self.rho, largest_model=self.largest_model)
        open_unit(measuring=self.measuring)
        object.__setattr__(self, "relation", Relation.of(self.relation))
        if self.relation is Relation.ZERO_OUT:
            raise ParameterError(
                argument="relation", value="zero_out", allowed="be 'add_remove' or 'replace_one' for coded records"
            )
        if self.rounds is not None:
            whole(2, rounds=self.rounds)
        if isinstance(self.workload, int):
            whole(1, workload=self.workload)
        else:
            names = tuple((one,) if isinstance(one, str) else tuple(one) for one in self.workload)
            object.__setattr__(self, "workload", names)

    def wanted(self, domain: Domain) -> tuple[Marginal, ...]:
        """The marginals of the workload."""
        if isinstance(self.workload, int):
            return tuple(combinations(domain.names, min(self.workload, len(domain.names))))
        return checked_marginals(domain, self.workload)

    def candidates(self, domain: Domain) -> tuple[Marginal, ...]:
        """Each attribute, then all larger subsets of the marginals of the workload, the small ones first."""
        place = {name: i for i, name in enumerate(domain.names)}
        found = {
            tuple(sorted(subset, key=place.__getitem__))
            for one in self.wanted(domain)
            for k in range(2, len(one) + 1)
            for subset in combinations(one, k)
        }
        larger = sorted(found, key=lambda one: (len(one), [place[name] for name in one]))
        if self.n_rounds(domain) <= len(domain.names):
            raise ParameterError(
                argument="rounds",
                value=self.rounds,
                allowed=f"be more than the number of attributes, {len(domain.names)}, each of which takes one",
            )
        return (*((name,) for name in domain.names), *larger)

    def weights(self, domain: Domain) -> Floats:
        """How many attributes each candidate shares with the marginals of the workload, in all."""
        wanted = self.wanted(domain)
        return np.array([float(sum(len({*one} & {*names}) for names in wanted)) for one in self.candidates(domain)])

    def n_rounds(self, domain: Domain) -> int:
        """Into how many parts rho is cut."""
        return 16 * len(domain.names) if self.rounds is None else self.rounds

    def most_rounds(self, domain: Domain) -> int:
        """How many rounds there are at most, those of the single attributes included.

        These are measured without a choice, and so leave the share of it; where no round ever costs more than the
        first, that makes up for whole rounds.
        """
        return self.n_rounds(domain) + math.floor((1.0 - self.measuring) * len(domain.names) + 1e-9)

    @property
    def sensitivity(self) -> float:
        """Cells of a marginal that a neighbour moves by one: the sensitivity of an L1 distance."""
        return 1.0 if self.relation is Relation.ADD_REMOVE else 2.0

    def deviation(self, cost: Floats) -> Floats:
        """Standard deviation of the noise of a cell in a round that costs `cost` in all."""
        return np.sqrt(self.sensitivity / (2.0 * self.measuring * cost))

    def choice_epsilon(self, deviation: Floats) -> Floats:
        """Epsilon of the choice in a round with this noise."""
        cost = self.sensitivity / (2.0 * self.measuring * deviation**2)
        return np.sqrt(8.0 * (1.0 - self.measuring) * cost)

    def guarantee(self, domain: Domain) -> Guarantee:
        """`ConcentratedDP(rho)`."""
        return ConcentratedDP(self.rho, relation=self.relation)

    def measure(self, table: Table, generator: Generator, size: int, rng: np.random.Generator) -> tuple[Measured, ...]:
        """Runs that have spent their budget wait for the others."""
        domain = table.domain
        setting = Setting.of(self, domain)
        collected, found = Collected(domain, setting.candidates, size), []
        cost = np.full(size, self.rho / self.n_rounds(domain))
        spent = np.zeros(size)
        everyone = np.arange(size)
        for place in range(len(domain.names)):
            found.append(self._measured(table, setting, place, everyone, self.deviation(cost), rng))
            collected.add(place, everyone, found[-1])
            spent += self.measuring * cost
        going = everyone
        model = self._fit(collected, going, table, generator, rng)
        while True:
            left, booked = self.rho - spent[going], self.booked(cost[going], domain)
            last = left < LESS * 2.0 * booked
            cost[going] = np.where(last, left, cost[going])
            spent[going] += np.where(last, left, booked)
            before = setting.counts(model)
            log_odds = self.log_odds(table, setting, before, collected, going, cost[going], spent[going])
            chosen = np.argmax(log_odds + rng.gumbel(size=log_odds.shape), axis=1)
            deviation = self.deviation(cost)
            for place in np.unique(chosen):
                runs = going[chosen == place]
                found.append(self._measured(table, setting, place, runs, deviation[runs], rng))
                collected.add(place, runs, found[-1])
            going, chosen, before = going[~last], chosen[~last], [counts[~last] for counts in before]
            if not len(going):
                break
            model = self._fit(collected, going, table, generator, rng)
            little = setting.moved(before, setting.counts(model), chosen) <= (
                HALF_NORMAL * deviation[going] * setting.n_cells[chosen]
            )
            cost[going] *= np.where(little, 4.0, 1.0)
        return tuple(found)

    def booked(self, cost: Floats, domain: Domain) -> Floats:
        """What is taken off the budget for a round that costs `cost`, shape `(size,)`."""
        return cost

    def log_odds(
        self,
        table: Table,
        setting: Setting,
        counts: Sequence[Floats],
        collected: Collected,
        runs: Ints,
        cost: Floats,
        spent: Floats,
    ) -> Floats:
        """Log probability of each candidate in each run, shape `(len(runs), n_candidates)`; -inf if it is too large.

        Args:
            table: the data.
            setting: candidates and weights.
            counts: of the model, `(len(runs), n_cells)` for each candidate.
            collected: what was measured so far.
            runs: which ones.
            cost: of the round, shape `(len(runs),)`.
            spent: in all, this round included.
        """
        deviation = self.deviation(cost)
        distance = np.stack(
            [
                np.abs(table.marginal(one) - model).sum(axis=1)
                for one, model in zip(setting.candidates, counts, strict=True)
            ],
            axis=1,
        )
        scores = setting.weights * (distance - HALF_NORMAL * deviation[:, None] * setting.n_cells)
        allowed = setting.allowed(collected, runs, self.largest_model * spent / self.rho)
        largest = np.where(allowed, setting.weights, 0.0).max(axis=1)
        rate = self.choice_epsilon(deviation) / (2.0 * self.sensitivity * largest)
        return np.asarray(log_softmax(np.where(allowed, rate[:, None] * scores, -np.inf), axis=1))

    def _fit(
        self, collected: Collected, runs: Ints, table: Table, generator: Generator, rng: np.random.Generator
    ) -> Synthesised:
        public = None if self.relation is Relation.ADD_REMOVE else len(table)
        return generator.fit(table.domain, collected.measured(runs, generator), rng, n_records=public)

    def _measured(
        self, table: Table, setting: Setting, place: int, runs: Ints, deviation: Floats, rng: np.random.Generator
    ) -> Measured:
        counts = table.marginal(setting.candidates[place])
        noise = deviation[:, None] * rng.standard_normal((len(runs), len(counts)))
        return Measured(setting.candidates[place], counts + noise, deviation, runs=runs)

    def transcript(self, domain: Domain, measured: Sequence[Measured], size: int) -> Floats:
        """See the class; shape `(size, most_rounds * (2 + longest marginal))`."""
        setting = Setting.of(self, domain)
        found = np.zeros((size, self.most_rounds(domain), 2 + int(setting.n_cells.max())))
        so_far = np.zeros(size, dtype=np.int64)
        for one in measured:
            runs = np.arange(size) if one.runs is None else one.runs
            found[runs, so_far[runs], 0] = 1 + setting.candidates.index(one.attributes)
            found[runs, so_far[runs], 1] = one.deviations
            found[runs, so_far[runs], 2 : 2 + one.answers.shape[1]] = one.answers
            so_far[runs] += 1
        return found.reshape(size, -1)

    def has_density(self, generator: Generator) -> bool:
        return generator.deterministic

    def log_density(self, transcripts: Floats, table: Table, generator: Generator) -> Floats:
        """Each choice given what was measured before, and the noise of each marginal."""
        setting = Setting.of(self, table.domain)
        rounds = transcripts.reshape(len(transcripts), self.most_rounds(table.domain), -1)
        collected = Collected(table.domain, setting.candidates, len(rounds))
        found, spent = np.zeros(len(rounds)), np.zeros(len(rounds))
        nothing = np.random.default_rng(0)
        for number in range(rounds.shape[1]):
            going = np.flatnonzero(rounds[:, number, 0] > 0)
            if not len(going):
                break
            chosen = rounds[going, number, 0].astype(np.int64) - 1
            deviation = rounds[going, number, 1]
            cost = self.sensitivity / (2.0 * self.measuring * deviation**2)
            if number < len(table.domain.names):
                spent[going] += self.measuring * cost
            else:
                left, booked = self.rho - spent[going], self.booked(cost, table.domain)
                spent[going] += np.where(left < LESS * 2.0 * booked, left, booked)
                counts = setting.counts(self._fit(collected, going, table, generator, nothing))
                odds = self.log_odds(table, setting, counts, collected, going, cost, spent[going])
                found[going] += odds[np.arange(len(going)), chosen]
            for place in np.unique(chosen):
                rows = chosen == place
                exact = table.marginal(setting.candidates[place])
                answers, noise = rounds[going[rows], number, 2 : 2 + len(exact)], deviation[rows]
                scaled = (answers - exact) / noise[:, None]
                found[going[rows]] += -0.5 * (scaled * scaled).sum(axis=1)
                found[going[rows]] -= len(exact) * np.log(noise * math.sqrt(2.0 * math.pi))
                collected.add(place, going[rows], Measured(setting.candidates[place], answers, noise))
        return found


class Setting(NamedTuple):
    """What a selection knows of a domain.

    Args:
        domain: of the records.
        candidates: marginals to choose from.
        weights: of each, shape `(n_candidates,)`.
        n_cells: of each, shape `(n_candidates,)`.
    """

    domain: Domain
    candidates: tuple[Marginal, ...]
    weights: Floats
    n_cells: Ints

    @classmethod
    def of(cls, selection: AIM, domain: Domain) -> Setting:
        candidates = selection.candidates(domain)
        n_cells = np.array([domain.project(one).n_cells for one in candidates])
        return cls(domain, candidates, selection.weights(domain), n_cells)

    def counts(self, model: Synthesised) -> list[Floats]:
        """Of every candidate, shape `(size, n_cells)` each."""
        return [model.marginal(one) for one in self.candidates]

    def moved(self, before: Sequence[Floats], after: Sequence[Floats], chosen: Ints) -> Floats:
        """L1 distance between the counts of the chosen marginal in two models, shape `(size,)`."""
        found = np.empty(len(chosen))
        for place in np.unique(chosen):
            rows = chosen == place
            found[rows] = np.abs(after[place][rows] - before[place][rows]).sum(axis=1)
        return found

    def allowed(self, collected: Collected, runs: Ints, limit: Floats) -> Flags:
        """Candidates with which the model is not too large, or which it holds already, `(len(runs), n_candidates)`.

        Args:
            collected: what was measured so far.
            runs: which ones.
            limit: in megabytes, shape `(len(runs),)`.
        """
        limit = limit / LESS
        if model_size(self.domain.attributes, frozenset({self.domain.names})) <= limit.min():
            return np.ones((len(runs), len(self.candidates)), dtype=np.bool_)
        found = np.empty((len(runs), len(self.candidates)), dtype=np.bool_)
        for row, run in enumerate(runs):
            cliques = collected.cliques(int(run))
            for place, one in enumerate(self.candidates):
                inside = any({*one} <= {*clique} for clique in cliques)
                found[row, place] = inside or model_size(self.domain.attributes, cliques | {one}) <= limit[row]
        return found
