"""Search for a bad pair or a good attack, with a confirmation of the winner on fresh trials.

    candidates x attacks -> a short audit of each (a look) -> the largest bound wins -> one audit of the winner

The candidates are a list, or are drawn from a declared domain: patterns, random pairs, and steps from the best one so
far.

Statistics. The looks and the confirmation draw from disjoint random streams (their root seeds are children of one seed
under different stages). Given the looks, the winner is therefore fixed, and the confirmation is an ordinary audit of
one pair and one attack: its bound holds at the full confidence for every outcome of the search, any number of looks,
any ranking, and any adaptive choice of the next pair. The looks are counted in no bound. Without fresh trials the best
of many looks is not a lower bound at its level.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...attacks.base import Attack
from ...attacks.catalogue import AttackChoice
from ...mechanisms.adapters.functions.function import FunctionMechanism
from ...mechanisms.adapters.functions.target import style_of
from ...mechanisms.core.base import Mechanism, Neighbours
from ...mechanisms.core.errors import (
    AlwaysRaisesError,
    AttackError,
    NeighboursError,
    NoAnswerError,
    ParameterError,
    ReleaseError,
)
from ...mechanisms.core.guarantee import Guarantee
from ...mechanisms.core.multiplicity import shared_confidence
from ...mechanisms.core.printable import display_name
from ...mechanisms.core.relation import Relation
from ...mechanisms.core.validation import called_as, counted, unit_interval, whole
from ..api import audit
from ..bounds.catalogue import BoundChoice
from ..games.setup import AuditSetup, check_function
from ..results.audit_result import AuditResult
from ..trials.progress import Reporter
from ..trials.seeds import Stage, child_seed, root_seed, stream
from .domains.base import SearchDomain
from .domains.text import domain_from
from .explore import SkipReason, Walk
from .fitted import fitted
from .relations import relations_of
from .result import (
    SCREENING_CONFIDENCE,
    Look,
    SearchResult,
    as_json,
    best_look,
    entries_of_candidates,
    entries_of_domain,
    in_words,
    of_relations,
    with_looks,
)

DEFAULT_LOOKS = 60
"""Number of looks of a search in a domain without a budget."""
DECISIVE_P_VALUE = 1e-6
"""P-value of a look that ends the search in a domain."""
REFUSED, RAISED, FAILED = "refused by the mechanism", "raised on both sides", "could not be run"
"""Reasons why pairs of a domain are skipped."""


@called_as("search(release, [Neighbours(d0, d1, 'add_remove'), ...], claim=PureDP(1.0))")
def search(
    mechanism: Mechanism | Callable[..., Any],
    candidates: Sequence[Neighbours] | None = None,
    *,
    domain: SearchDomain[Any] | str | Mapping[str, Any] | None = None,
    relation: str | Relation | None = None,
    attacks: Sequence[AttackChoice] = ("auto",),
    bound: BoundChoice = "auto",
    explore: int = 2_000,
    budget: int | float | None = None,
    enough: float = DECISIVE_P_VALUE,
    trials: int | float = 100_000,
    delta: float | None = None,
    confidence: float = 0.95,
    claim: Guarantee | None = None,
    stop: str | None = None,
    n_hypotheses: int = 1,
    seed: int | None = None,
    n_jobs: int | None = 1,
    timeout: float | None = None,
    store: Path | str | None = None,
    progress: bool | Reporter = False,
) -> SearchResult:
    """Audit many pairs on few trials, under every attack, and the most promising one on fresh trials.

    Args:
        mechanism, bound, delta, confidence, claim, stop, n_hypotheses, seed, n_jobs, timeout, progress: as for
            `dpassay.audit.audit`; `stop` and `n_hypotheses` are for the confirmation.
        candidates: neighbouring pairs, at least one; None with a domain.
        domain: the set of possible datasets, instead of candidates: a `SearchDomain`, or what
            `dpassay.audit.search.domain_from` accepts, such as "numbers 0..1". Its pairs are patterns first, then
            random ones and steps from the best.
        relation: of the pairs of the domain; None for that of the mechanism or of the claim. Where none is stated,
            both "add_remove" and "replace_one" are searched, each with half of the budget, and the result says for
            which of them the claim is refuted: see `dpassay.audit.search.relations`.
        attacks: names or `Attack`s, at least one; each is tried on each pair.
        explore: runs per side of each look, pilot included.
        budget: runs per side of all looks in a domain together, >= explore; None is 60 looks.
        enough: p-value of a look at which the search in a domain stops, in [0, 1]; 0 uses the whole budget.
        trials: runs per side of the confirmation, pilot included.
        store: directory for finished trials, one folder per audit; None stores nothing.

    Returns:
        All looks, the winner, and its confirmation. With one candidate and one attack there are no looks. Pairs of a
        domain that the mechanism refuses, or on which all runs of both sides raise the same exception, are skipped and
        counted.

    Raises:
        ParameterError: no candidates or no attacks; errors of `dpassay.audit.audit`, if possible before anything runs.
        NeighboursError: no pair of the domain can be audited.

    Guarantees:
        * With probability at least `confidence`, `result.bound.epsilon` does not exceed the true epsilon of the
          confirmed pair, and so of the mechanism, at `delta`, for any number of looks.
        * The same seed gives the same result, byte for byte.

    Example:
        >>> from dpassay.mechanisms import Laplace, Neighbours
        >>> near, far = Neighbours(0.0, 0.3, "add_remove"), Neighbours(0.0, 1.0, "add_remove")
        >>> result = search(Laplace(epsilon=1.0), [near, far], trials=20_000, seed=0)
        >>> result.candidate, result.verdict.value, result.ledger[0].looked_at
        (1, 'consistent', '2 looks: 2 pairs x 1 attack, 2,000 trials a side each')
        >>> from dpassay.mechanisms.accounting import PureDP
        >>> def ignores_the_range(dataset, size, rng):
        ...     return dataset.sum() + rng.laplace(size=size)
        >>> result = search(ignores_the_range, domain="numbers 0..5", claim=PureDP(1.0), trials=5_000, seed=0)
        >>> result.verdict.value, result.d0, result.d1
        ('violation', '[]', '[5.0]')
    """
    checked_attacks = _attacks(attacks)
    whole(1, explore=explore)
    looks = _Looks(
        mechanism,
        checked_attacks,
        explore=explore,
        seed=root_seed(seed),
        home=None if store is None else Path(store),
        options={
            "bound": bound,
            "delta": delta,
            "claim": claim,
            "n_jobs": n_jobs,
            "timeout": timeout,
            "progress": progress,
        },
    )
    confirm_options = {"trials": trials, "confidence": confidence, "stop": stop, "n_hypotheses": n_hypotheses}
    if domain is None:
        if relation is not None or budget is not None:
            name = "relation" if budget is None else "budget"
            raise ParameterError(f"{name} is for a search in a domain: pass domain=..., or omit it.", argument=name)
        pairs = _checked(candidates)
        for pair in pairs:  # raises on invalid arguments before anything runs
            for attack in checked_attacks:
                AuditSetup.of(mechanism, pair, attack, bound, delta, confidence, claim, stop)
        return looks.among(pairs, confirm_options)
    if candidates is not None:
        raise ParameterError("pass either candidates or a domain, but not both.", argument=("candidates", "domain"))
    unit_interval(enough=enough)
    per_side = DEFAULT_LOOKS * explore if budget is None else counted(explore, budget=budget)
    if not isinstance(mechanism, Mechanism):
        check_function(mechanism, claim)
        style_of(mechanism)
    of, n_looks = domain_from(domain), per_side // explore
    relations = relations_of(mechanism, claim, relation, records=of.records)
    if len(relations) == 1:
        return looks.within(of, relations[0], n_looks, enough, confirm_options)
    return looks.within_each(of, relations, n_looks, enough, confirm_options)


@dataclass
class _Looks:
    """One search: its looks, and its confirmation."""

    mechanism: Mechanism | Callable[..., Any]
    attacks: tuple[AttackChoice, ...]
    explore: int
    seed: int
    home: Path | None
    options: dict[str, Any]
    n_made: int = 0

    def among(self, pairs: tuple[Neighbours, ...], confirm_options: dict[str, Any]) -> SearchResult:
        """Search a list of candidates: one look at each, under each attack."""
        needs_looks = len(pairs) * len(self.attacks) > 1
        looks = tuple(
            replace(look, candidate=at, pair=display_name(pair))
            for at, pair in enumerate(pairs)
            for look in (self._look(self.mechanism, pair) if needs_looks else ())
        )
        winner = best_look(looks)
        pair = pairs[0 if winner is None else looks[winner].candidate]
        confirmed = self._confirm(self.mechanism, pair, winner, confirm_options)
        entries = entries_of_candidates(looks, winner, len(pairs), len(self.attacks))
        return SearchResult(looks, winner, with_looks(confirmed, entries, len(self.attacks)), self.seed)

    def within(
        self,
        domain: SearchDomain[Any],
        relation: Relation,
        n_looks: int,
        enough: float,
        confirm_options: dict[str, Any],
    ) -> SearchResult:
        """Search a domain by a walk with a budget of looks."""
        walk = Walk(
            domain,
            relation,
            lambda pair, times: self._try(domain, pair, times),
            stream(self.seed, Stage.SEARCH, side=1),
            n_looks=n_looks,
            n_attacks=len(self.attacks),
            enough=enough,
        )
        walk.run()
        looks = tuple(walk.looks)
        winner = best_look(looks)
        assert winner is not None
        pair, domain_text, skipped = walk.pairs[looks[winner].candidate], str(domain), dict(walk.skipped)
        confirmed = self._confirm(self._fitted(domain, pair), pair, winner, confirm_options)
        entries = entries_of_domain(looks, winner, pair, domain_text, skipped)
        return SearchResult(
            looks,
            winner,
            with_looks(confirmed, entries, len(self.attacks)),
            self.seed,
            domain_text,
            skipped,
            as_json(pair.d0),
            as_json(pair.d1),
        )

    def within_each(
        self,
        domain: SearchDomain[Any],
        relations: tuple[Relation, ...],
        n_looks: int,
        enough: float,
        confirm_options: dict[str, Any],
    ) -> SearchResult:
        """Search a domain for each relation, at equal shares of the budget and of the significance.

        The result is that of the relation with the smallest p-value; a relation without pairs is left out.
        """
        significance, n = 1.0 - confirm_options["confidence"], len(relations)
        options = confirm_options | {"confidence": shared_confidence(confirm_options["confidence"], n)}
        found: dict[str, SearchResult] = {}
        failed: NeighboursError | None = None
        for index, relation in enumerate(relations):
            home = self.home and self.home / relation.value
            one = replace(self, seed=child_seed(self.seed, Stage.PROBE, index), home=home, n_made=0)
            try:
                found[relation.value] = one.within(domain, relation, max(1, n_looks // n), enough, options)
            except NeighboursError as error:
                failed = error
        if failed is not None and not found:
            raise failed
        return of_relations(found, significance, self.seed)

    def _try(self, domain: SearchDomain[Any], pair: Neighbours, times: int) -> tuple[Look, ...] | SkipReason:
        """Return the looks at a pair of a domain, or the reason why it is skipped."""
        try:
            mechanism = self._fitted(domain, pair)
        except ParameterError as error:
            return SkipReason(REFUSED, str(error))
        except AlwaysRaisesError as error:
            return SkipReason(RAISED, str(error))
        except ReleaseError as error:
            return SkipReason(FAILED, str(error))
        try:
            return tuple(replace(look, pair=in_words(pair)) for look in self._look(mechanism, pair, times))
        except (AttackError, ReleaseError) as error:
            return SkipReason(FAILED, str(error))

    def _fitted(self, domain: SearchDomain[Any], pair: Neighbours) -> Mechanism:
        """Return the mechanism for this pair."""
        claim, timeout = self.options["claim"], self.options["timeout"]
        mechanism = fitted(self.mechanism, pair, claim=claim, records=domain.records, timeout=timeout)
        if isinstance(mechanism, FunctionMechanism) and mechanism.unanswered:
            raise NoAnswerError(mechanism.unanswered)
        return mechanism

    def _look(self, mechanism: Mechanism | Callable[..., Any], pair: Neighbours, times: int = 1) -> tuple[Look, ...]:
        """Return a short audit of the pair under each attack."""
        return tuple(self._look_once(mechanism, pair, attack, self.explore * times) for attack in self.attacks)

    def _look_once(
        self, mechanism: Mechanism | Callable[..., Any], pair: Neighbours, attack: AttackChoice, trials: int
    ) -> Look:
        index, self.n_made = self.n_made, self.n_made + 1
        child = child_seed(self.seed, Stage.SEARCH, index)
        result = audit(
            mechanism,
            pair,
            attack=attack,
            trials=trials,
            confidence=SCREENING_CONFIDENCE,
            seed=child,
            store=self.home and self.home / f"look-{index:04d}",
            **self.options,
        )
        if result.witness is not None:
            return Look(0, "", result.attack, result.witness.epsilon, 0.0, trials, child)
        return Look(0, "", result.attack, result.bound.epsilon, result.p_value, trials, child)

    def _confirm(
        self,
        mechanism: Mechanism | Callable[..., Any],
        pair: Neighbours,
        winner: int | None,
        confirm_options: dict[str, Any],
    ) -> AuditResult:
        """Audit the winner on fresh trials; the looks at a pair are in the order of the attacks."""
        return audit(
            mechanism,
            pair,
            attack=self.attacks[(winner or 0) % len(self.attacks)],
            seed=child_seed(self.seed, Stage.CONFIRMATION),
            store=self.home and self.home / "confirmation",
            **confirm_options,
            **self.options,
        )


def _attacks(attacks: Sequence[AttackChoice]) -> tuple[AttackChoice, ...]:
    listed = tuple([attacks] if isinstance(attacks, (str, Attack)) or callable(attacks) else attacks)
    if not listed:
        raise ParameterError("attacks must contain at least one attack, but is empty.", argument="attacks")
    return listed


def _checked(candidates: Sequence[Neighbours] | None) -> tuple[Neighbours, ...]:
    if candidates is None:
        raise ParameterError(
            "pass candidates, a list of pairs, or a domain to search, such as domain='numbers 0..1'.",
            argument="candidates",
        )
    if isinstance(candidates, str):
        raise ParameterError(
            f"candidates must be a list of pairs, but is {candidates!r}. For a search in a domain write "
            f"domain={candidates!r}.",
            argument="candidates",
        )
    pairs = tuple([candidates] if isinstance(candidates, Neighbours) else candidates)
    if not pairs:
        raise ParameterError("candidates must contain at least one pair, but is empty.", argument="candidates")
    other = next((pair for pair in pairs if not isinstance(pair, Neighbours)), None)
    if other is not None:
        raise ParameterError(
            f"candidates must be Neighbours, but contain {other!r}. Try Neighbours(d0, d1, relation).",
            argument="candidates",
        )
    return pairs
