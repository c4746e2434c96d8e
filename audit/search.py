"""Looking for a bad pair or a good attack, then confirming the winner on fresh trials.

    candidates x attacks -> a short audit of each (a look) -> the largest bound wins -> one audit of the winner

Statistics. The looks and the confirmation draw from disjoint random streams (their root seeds are children of one seed
under different stages). Given the looks, the winner is therefore fixed, and the confirmation is an ordinary audit of
one pair and one attack: its bound holds at the full confidence whatever happened in the search, however many looks
there were and however they were compared. The looks are counted in no bound. Without fresh trials the best of many
looks is no lower bound at its level.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from ..attacks.base import Attack
from ..mechanisms.base import Mechanism, Neighbours
from ..mechanisms.errors import ParameterError
from ..mechanisms.guarantees.base import Guarantee
from ..mechanisms.label import label
from ..mechanisms.validation import whole
from .api import audit
from .bounds.base import LedgerEntry, LowerBound
from .bounds.choose import BoundChoice
from .evidence.verdict import Verdict
from .games.question import Question
from .results import consistency
from .results.audit_result import AuditResult, check_audit
from .results.saved import Saved
from .trials.seeds import Stage, child_seed, root_seed

SCREENING_CONFIDENCE = 0.75
"""At which the looks are compared: low enough to tell candidates apart on few trials, high enough to punish luck."""

CHOSEN = "chosen by the search, before these trials"


@dataclass(frozen=True)
class Look:
    """One candidate under one attack, on screening trials; decides who wins and is counted in no bound.

    Args:
        candidate: place of the pair among the candidates, from 0.
        pair: the pair, for people.
        attack: name of the attack.
        epsilon: the bound at confidence 0.75, which the looks are ranked by.
        p_value: against the claim, from the same trials; breaks ties.
        trials: runs per side, pilot included.
        seed: root of its random streams.
    """

    candidate: int
    pair: str
    attack: str
    epsilon: float
    p_value: float
    trials: int
    seed: int


@dataclass(frozen=True)
class SearchResult(Saved):
    """Everything that was looked at, and the confirmation of the winner.

    Args:
        looks: in the order of candidates, attacks within; empty where there was nothing to choose from.
        winner: place of the winner among the looks; None where there are none.
        confirmed: the audit of the winner on fresh trials; its bound and verdict are those of the search, and its
            ledger begins with every look.
        seed: root of all seeds.
    """

    FORMAT: ClassVar[str] = "dpassay.search-result"
    VERSION: ClassVar[int] = 3

    looks: tuple[Look, ...]
    winner: int | None
    confirmed: AuditResult
    seed: int

    @property
    def bound(self) -> LowerBound:
        """Valid at the confidence that was asked for, over the whole search."""
        return self.confirmed.bound

    @property
    def verdict(self) -> Verdict:
        return self.confirmed.verdict

    @property
    def ledger(self) -> tuple[LedgerEntry, ...]:
        """What was looked at, and how it is paid for."""
        return self.confirmed.ledger

    @property
    def candidate(self) -> int:
        """Place of the confirmed pair among the candidates."""
        return 0 if self.winner is None else self.looks[self.winner].candidate

    def summary(self) -> str:
        """The table that a person reads: that of the confirmation, whose ledger lists the looks."""
        return self.confirmed.summary()

    def check(self) -> None:
        """Raises `ResultError` where the confirmation contradicts itself, or another look has the largest bound."""
        check_audit(self.confirmed, "confirmed")
        consistency.require(self.winner == _winner(self.looks), "winner", "another look has the largest bound")


def search(
    mechanism: Mechanism | Callable[..., Any],
    candidates: Sequence[Neighbours],
    *,
    attacks: Sequence[str | Attack] = ("auto",),
    bound: BoundChoice = "auto",
    explore: int = 2_000,
    trials: int = 100_000,
    delta: float | None = None,
    confidence: float = 0.95,
    claim: Guarantee | None = None,
    stop: str | None = None,
    seed: int | None = None,
    n_jobs: int | None = 1,
    store: Path | str | None = None,
    progress: bool = False,
) -> SearchResult:
    """Audits every candidate pair under every attack on few trials, and the most promising one on fresh ones.

    Args:
        mechanism, bound, delta, confidence, claim, stop, seed, n_jobs, progress: as for `dpassay.audit.audit`; `stop`
            is for the confirmation.
        candidates: neighbouring pairs, at least one.
        attacks: names or `Attack`s, at least one; each is tried on each pair.
        explore: runs per side of each look, pilot included.
        trials: runs per side of the confirmation, pilot included.
        store: directory that keeps finished trials, each audit in a folder of its own; None keeps none.

    Returns:
        All looks, the winner, and its confirmation. With one pair and one attack there is nothing to choose, and
        there are no looks.

    Raises:
        ParameterError: no candidates or no attacks; what `dpassay.audit.audit` raises, before anything runs where it
            can.

    Guarantees:
        * With probability at least `confidence`, `result.bound.epsilon` does not exceed the true epsilon of the
          confirmed pair, and so of the mechanism, at `delta`, whatever the number of looks.
        * The same seed gives the same result, byte for byte.

    Example:
        >>> from dpassay.mechanisms import Laplace, Neighbours
        >>> near, far = Neighbours(0.0, 0.3, "add_remove"), Neighbours(0.0, 1.0, "add_remove")
        >>> found = search(Laplace(epsilon=1.0), [near, far], trials=20_000, seed=0)
        >>> found.candidate, found.verdict.value, found.ledger[0].looked_at
        (1, 'consistent', '2 looks: 2 pairs x 1 attacks, 2,000 trials a side each')
    """
    pairs, tried = _checked(candidates, attacks)
    whole(1, explore=explore)
    names = [
        Question.ask(mechanism, pair, attack, bound, delta, confidence, claim, stop).attack_name
        for pair in pairs
        for attack in tried
    ]  # refuses what cannot be asked before anything runs
    seed, home = root_seed(seed), None if store is None else Path(store)
    ask = partial(audit, mechanism, bound=bound, delta=delta, claim=claim, n_jobs=n_jobs, progress=progress)

    def look(place: int) -> Look:
        at, which = divmod(place, len(tried))
        child = child_seed(seed, Stage.SEARCH, place)
        found = ask(
            pairs[at],
            attack=tried[which],
            trials=explore,
            confidence=SCREENING_CONFIDENCE,
            seed=child,
            store=home and home / f"look-{place:04d}",
        )
        return Look(at, label(pairs[at]), names[place], found.bound.epsilon, found.p_value, explore, child)

    looks = tuple(look(place) for place in range(len(names))) if len(names) > 1 else ()
    winner = _winner(looks)
    at, which = divmod(winner or 0, len(tried))
    confirmed = ask(
        pairs[at],
        attack=tried[which],
        trials=trials,
        confidence=confidence,
        stop=stop,
        seed=child_seed(seed, Stage.CONFIRMATION),
        store=home and home / "confirmation",
    )
    entries = _entries(looks, winner, n_pairs=len(pairs), n_attacks=len(tried))
    return SearchResult(looks, winner, _with_looks(confirmed, entries, len(tried)), seed)


def _winner(looks: Sequence[Look]) -> int | None:
    """Place of the look with the largest bound; of equal ones, that with the least p-value, then the first."""
    return max(range(len(looks)), key=lambda i: (looks[i].epsilon, -looks[i].p_value, -i), default=None)


def _checked(
    candidates: Sequence[Neighbours], attacks: Sequence[str | Attack]
) -> tuple[tuple[Neighbours, ...], tuple[str | Attack, ...]]:
    pairs = tuple([candidates] if isinstance(candidates, Neighbours) else candidates)
    tried = tuple([attacks] if isinstance(attacks, (str, Attack)) else attacks)
    for name, given in (("candidates", pairs), ("attacks", tried)):
        if not given:
            raise ParameterError(f"{name} must hold at least one, but is empty.", argument=name)
    other = next((pair for pair in pairs if not isinstance(pair, Neighbours)), None)
    if other is not None:
        raise ParameterError(
            f"candidates must be Neighbours, but hold {other!r}. Try Neighbours(d0, d1, relation).",
            argument="candidates",
        )
    return pairs, tried


def _entries(looks: tuple[Look, ...], winner: int | None, *, n_pairs: int, n_attacks: int) -> tuple[LedgerEntry, ...]:
    """What the search looked at, look by look."""
    if winner is None:
        return ()
    size = f"{len(looks)} looks: {n_pairs} pairs x {n_attacks} attacks, {looks[0].trials:,} trials a side each"
    paid = "the best one confirmed on fresh trials, from streams of their own"
    each = (
        LedgerEntry(
            f"look {place + 1}",
            f"pair {look.candidate + 1} [{look.pair}] under {look.attack}: epsilon >= {look.epsilon:.4g} "
            f"at confidence {SCREENING_CONFIDENCE:g}",
            "the winner; these trials are not counted" if place == winner else "not counted",
        )
        for place, look in enumerate(looks)
    )
    chosen = looks[winner]
    pair = LedgerEntry("pair", f"{chosen.candidate + 1} of {n_pairs}", CHOSEN)
    return (LedgerEntry("search", size, paid), *each, pair)


def _with_looks(confirmed: AuditResult, entries: tuple[LedgerEntry, ...], n_attacks: int) -> AuditResult:
    """The audit with the search in its ledger, in the place of "the pair was fixed beforehand"."""
    if not entries:
        return confirmed
    kept = (_searched(entry, n_attacks) for entry in confirmed.ledger if entry.what != "pair")
    return replace(confirmed, ledger=(*entries, *kept))


def _searched(entry: LedgerEntry, n_attacks: int) -> LedgerEntry:
    """The entry; that of the attack with what it was chosen from."""
    if entry.what != "attack" or n_attacks == 1:
        return entry
    chosen = f"{entry.looked_at} of {n_attacks}"
    return replace(entry, looked_at=chosen, correction=f"{CHOSEN}; {entry.correction}")
