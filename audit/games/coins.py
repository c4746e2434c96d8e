"""One run of the user's own training loop, with a fair coin for each canary.

    toss -> train with the included canaries -> score every canary -> audit

The bits are drawn and sealed before training: their digest can be published, and a file of coins is never overwritten.
Scores are joined to the coins by the ids of the canaries.

Null hypothesis: the training satisfies the claim, for each canary that is in or out. Fixed before looking: the bits,
the bound, the direction of the scores (`losses` or `scores`). A canary without a score gets the median of the others,
so that it is guessed last. This is a function of the scores and of the missing entries only, and the bound holds as
long as neither was made with the bits. A test of the missing entries against the bits refuses some that were: it states
nothing about the claim, and needs no correction.
"""

from __future__ import annotations

import hashlib
import json
import math
import reprlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ...mechanisms.core import Bools, Floats, Guarantee, ParameterError, Relation, called_as, open_unit, plural, whole
from ..bounds.base import LedgerEntry
from ..bounds.bits.guessing import ascending
from ..bounds.catalogue import BoundChoice
from ..evidence.fair_coins import STATED_COINS_LEVEL
from ..evidence.scores import BitScores
from ..results.audit_result import AuditResult
from ..results.refuting_event import GuessedCanaries
from ..trials.array_files import read_text
from .external_scores import audit_scores
from .looks import Looks, look_digest

if TYPE_CHECKING:
    import pandas as pd

    ScoresById = Mapping[Any, float] | pd.Series

COINS_FORMAT = "dpassay coins 1"
"""First entry of a file of coins."""
LISTED, LONGEST_ID = 5, 60
"""Largest number of ids in a message, and of characters of each."""
COINS_KEY = 0x636F696E73
"""Constant that separates the coins from other random streams of the same seed ("coins" in ASCII)."""


@dataclass(frozen=True, eq=False)
class Coins:
    """Independent fair coins, one per canary, that decide which canaries are in one training run.

    Ids are compared as text, so that the ids of a file match those of an array: 7, "7" and a tensor of 7 are the same
    id, and "07" is another one.

    Args:
        ids: `(n_canaries,)` ids of the canaries, all different.
        included: `(n_canaries,)` True where the canary is in the run.
        tossed: time of the toss, ISO 8601, UTC.
        salt: random text of the seal, without which the bits cannot be guessed from the digest.
        file: the file in which the coins are sealed; None if there is none.

    Raises:
        ParameterError: no ids, ids that are neither texts nor whole numbers, duplicate ids, or a number of bits that
            differs from that of the ids.

    Example:
        >>> coins = Coins.toss(range(1_000), seed=0)
        >>> rng = np.random.default_rng(1)                       # stands for training with the included canaries
        >>> losses = rng.normal(size=1_000) - 4.0 * coins.included
        >>> from dpassay.mechanisms.accounting import ApproximateDP
        >>> coins.audit(losses=dict(zip(coins.ids, losses)), claim=ApproximateDP(1.0, 1e-5)).verdict.value
        'violation'

    References:
        Steinke, Nasr and Jagielski (2023), "Privacy auditing with one (1) training run", NeurIPS, algorithm 1.
    """

    ids: tuple[str, ...]
    included: Bools
    tossed: str = ""
    salt: str = ""
    file: Path | None = field(default=None, repr=False)
    _looks: Looks = field(init=False, repr=False)

    def __post_init__(self) -> None:
        ids, included = _texts(self.ids), np.asarray(self.included)
        if not ids:
            raise ParameterError("ids must hold one id per canary, but is empty.", argument="ids")
        if len(set(ids)) < len(ids):
            raise ParameterError(
                f"ids must differ as text, but there are several of {_listed(_repeated(ids))}.", argument="ids"
            )
        if included.dtype != np.bool_ or included.shape != (len(ids),):
            raise ParameterError(
                f"included must be True or False for each of {len(ids)} ids, but is {included.dtype} of shape "
                f"{included.shape}.",
                argument="included",
            )
        object.__setattr__(self, "ids", ids)
        object.__setattr__(self, "included", included)
        object.__setattr__(self, "_looks", Looks(self.digest, self.file))

    @classmethod
    @called_as("Coins.toss(ids, file='coins.json')")
    def toss(cls, ids: Iterable[Any], *, seed: int | None = None, file: Path | str | None = None) -> Self:
        """Toss one coin per canary, before training.

        Args:
            ids: ids of the canaries, all different: texts, or whole numbers.
            seed: seed of the coins, which must not be used by the training; None draws them from the operating system.
            file: new JSON file in which the coins are sealed; an existing file is refused.

        Raises:
            ParameterError: no ids, ids that are neither texts nor whole numbers, duplicate ids, or a file that does
                not end in .json, exists or cannot be written.
        """
        if seed is not None:
            whole(0, seed=seed)
        named = _texts(ids)
        rng = np.random.default_rng(None if seed is None else [COINS_KEY, seed])
        coins = cls(
            named,
            rng.random(len(named)) < 0.5,
            datetime.now(UTC).isoformat(timespec="seconds"),
            rng.bytes(16).hex(),
            None if file is None else Path(file),
        )
        if coins.file is not None:
            coins.save(coins.file)
        return coins

    @property
    def digest(self) -> str:
        """SHA-256 digest of ids, bits, time and salt, in hexadecimal: publish it before training to seal the bits."""
        sealed = [self.ids, self.included.tolist(), self.tossed, self.salt]
        return hashlib.sha256(json.dumps(sealed).encode()).hexdigest()

    @property
    def included_ids(self) -> tuple[str, ...]:
        """Ids of the canaries that are in the run."""
        return tuple(id_ for id_, is_in in zip(self.ids, self.included, strict=True) if is_in)

    def among(self, ids: Iterable[str]) -> Coins:
        """Return the coins of some canaries, in this order; an audit with them is a look at all of these coins."""
        chosen = np.isin(self.ids, list(ids))
        some = replace(self, ids=tuple(np.array(self.ids)[chosen].tolist()), included=self.included[chosen])
        object.__setattr__(some, "_looks", self._looks)
        return some

    def save(self, file: Path | str) -> None:
        """Write the coins to a new JSON file, with their digest; an existing file is refused.

        Later looks at the coins are recorded next to it.

        Raises:
            ParameterError: a name that does not end in .json, or a file that exists or cannot be written.
        """
        if Path(file).suffix != ".json":
            raise ParameterError(
                f"file must end in .json, but is {str(file)!r}. Try {str(Path(file).with_suffix('.json'))!r}.",
                argument="file",
            )
        content = {
            "format": COINS_FORMAT,
            "digest": self.digest,
            "tossed": self.tossed,
            "salt": self.salt,
            "included": self.included_ids,
            "excluded": [id_ for id_, is_in in zip(self.ids, self.included, strict=True) if not is_in],
            "order": self.ids,
        }
        try:
            with Path(file).open("x", encoding="utf-8") as stream:
                stream.write(json.dumps(content, indent=1))
        except FileExistsError:
            raise ParameterError(
                f"file must not exist, but {file} does. Each training run has its own coins: give another name. To "
                f"resume the training of these: Coins.load({str(file)!r}).",
                argument="file",
            ) from None
        except OSError as error:
            raise ParameterError(f"{file} cannot be written: {error.strerror or error}.", argument="file") from error
        if self.file is None:
            object.__setattr__(self, "file", Path(file))
            self._looks.keep_in(Path(file))

    @classmethod
    def load(cls, file: Path | str) -> Self:
        """Read coins from a file that `save` wrote, and check their digest.

        Raises:
            ParameterError: no such file, another kind of file, or coins that do not match their digest.
        """
        try:
            content = json.loads(read_text(Path(file)))
            if content["format"] != COINS_FORMAT:
                raise ValueError(f"its format is {content['format']!r}")
            inside = set(content["included"])
            if len(inside) + len(content["excluded"]) != len(content["order"]) or inside & set(content["excluded"]):
                raise ValueError("the ids in `included` and `excluded` are not those in `order`")
            bits = np.array([id_ in inside for id_ in content["order"]], dtype=np.bool_)
            coins = cls(tuple(content["order"]), bits, content["tossed"], content["salt"], Path(file))
        except OSError as error:
            raise ParameterError(
                f"{file} cannot be read: {error.strerror or error}.", argument=("file", "coins")
            ) from error
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
            raise ParameterError(
                f"{file} must be a file that `Coins.save` or `dpassay coins` wrote, but {error}.",
                argument=("file", "coins"),
            ) from error
        if coins.digest != content["digest"]:
            raise ParameterError(
                f"{file} was changed after the toss: its coins do not match their digest.", argument=("file", "coins")
            )
        return coins

    def evidence(
        self,
        scores: ScoresById | None = None,
        *,
        losses: ScoresById | None = None,
        relation: Relation | str = Relation.ADD_REMOVE,
    ) -> BitScores:
        """Return bits and scores in the order of `ids`; arguments and errors as for `audit`."""
        values = self._joined(scores, losses)
        missing = np.isnan(values)
        with np.errstate(invalid="ignore"):
            middle = 2.0 * float(np.median(0.5 * values[~missing]))  # the sum of two large scores may overflow
        middle = 0.0 if np.isnan(middle) else middle  # the median of as many -inf as inf
        return BitScores(self.included, np.where(missing, middle, values), relation=Relation.of(relation))

    @called_as("coins.audit(losses=dict(zip(ids, losses)), claim=PureDP(1.0))")
    def audit(
        self,
        scores: ScoresById | None = None,
        *,
        losses: ScoresById | None = None,
        claim: Guarantee,
        delta: float | None = None,
        confidence: float = 0.95,
        bound: BoundChoice = "auto",
        relation: Relation | str = Relation.ADD_REMOVE,
        looks: int = 1,
        source: str = "",
    ) -> AuditResult:
        """Audit the claim of the training from one score per canary.

        Give one of `scores` and `losses`. Audits of different scores with the same coins are counted, across processes
        if the coins are in a file; a result warns if they exceed the planned number.

        Args:
            scores: id -> score, higher = the canary was in: a dictionary, or a pandas Series with the ids as index.
                NaN and None, like an id that is not there, are missing scores.
            losses: id -> loss of the trained model on the canary, lower = the canary was in.
            claim: the guarantee under test.
            delta, bound: see `dpassay.audit.audit_scores`. `bound=[OneRunFDP(negatives=0.0), OneRun(negatives=0.0)]`
                guesses "in" only.
            confidence: of the bounds of all planned looks together.
            looks: number of audits with these coins that are planned, >= 1: this one has confidence
                1 - (1 - `confidence`) / `looks`. All scores must be chosen before the first of them is audited.
            source: where the scores are from, such as the name of a file, for the record of looks.
            relation: "add_remove" if an excluded canary is absent; "replace_one" if another record takes its place.

        Raises:
            ParameterError: both or neither of `scores` and `losses`, ids without a coin, duplicate ids, values that are
                not numbers, fewer than half of the scores, or scores that are missing for one side only.

        Guarantees:
            * if each score was computed without its bit, `result.bound.epsilon` exceeds the true epsilon with
              probability at most 1 - `confidence`, for any dependence between canaries.
        """
        whole(1, looks=looks)
        open_unit(confidence=confidence)
        evidence = self.evidence(scores, losses=losses, relation=relation)
        n_missing = int(np.isnan(self._joined(scores, losses)).sum())
        result = audit_scores(
            evidence,
            claim=claim,
            delta=delta,
            confidence=1.0 - (1.0 - confidence) / looks,
            bound=bound,
            relation=relation,
            attack="scores of the caller" if losses is None else "losses of the caller",
            tossed=True,
        )
        sealed = f"sealed in {self.file.name}" if self.file is not None else "not sealed in a file"
        ledger = [LedgerEntry("toss", f"{self.tossed}, digest {self._looks.coins[:12]}, {sealed}", "before training")]
        if n_missing:
            missing = f"{n_missing} of {len(self.ids)}: each gets the median"
            ledger.append(LedgerEntry("missing scores", missing, "none needed: they are guessed last"))
        digest = look_digest(evidence.scores, claim, result.delta, bound, str(Relation.of(relation)))
        named = replace(result, ledger=(*ledger, *result.ledger), guessed=self._guessed(result, evidence))
        return self._looks.count(named, digest, source=source, significance=1.0 - confidence)

    def _guessed(self, result: AuditResult, evidence: BitScores) -> GuessedCanaries | None:
        """Return the canaries whose guesses gave the bound that refutes the claim; None where no such bound does."""
        numbers = result.refuting_bound.guesses
        if result.refuted_by != "bound" or numbers is None:
            return None
        order, (n_in, n_out) = ascending(evidence.scores.ravel()), numbers
        positions = np.concatenate([order[::-1][:n_in], order[:n_out]])
        right = self.included[positions] == np.repeat([True, False], numbers)
        surest = np.argsort(np.concatenate([np.arange(n_in), np.arange(n_out)]), kind="stable")
        ids: tuple[list[str], list[str]] = ([], [])
        for index in surest:
            ids[int(right[index])].append(self.ids[positions[index]])
        return GuessedCanaries(right=tuple(ids[1]), wrong=tuple(ids[0]))

    def _joined(self, scores: ScoresById | None, losses: ScoresById | None) -> Floats:
        """Return the scores in the order of `ids`, higher = in, NaN where there is none."""
        supplied, argument, sign = (scores, "scores", 1.0) if losses is None else (losses, "losses", -1.0)
        if supplied is None or (scores is not None and losses is not None):
            raise ParameterError(
                "give one of scores (higher = in) and losses (lower = in), but "
                + ("neither is given." if supplied is None else "both are given."),
                argument=("scores", "losses"),
            )
        named = _by_id(supplied, argument)
        known = set(self.ids)
        unknown = [id_ for id_ in named if id_ not in known]
        if unknown:
            raise ParameterError(
                f"{argument} must have ids that a coin was tossed for, but {_listed(unknown)} "
                f"{'has' if len(unknown) == 1 else 'have'} none. Known ids begin with {_listed(self.ids)}.",
                argument=argument,
            )
        values = sign * np.array([named.get(id_, math.nan) for id_ in self.ids])
        self._check_missing(np.isnan(values), argument)
        return values

    def _check_missing(self, missing: Bools, argument: str) -> None:
        """Raise `ParameterError` if too many scores are missing, or if the missing ones depend on the bits."""
        n_missing = int(missing.sum())
        if 2 * n_missing > len(missing):
            raise ParameterError(
                f"{argument} must hold a number for at least half of the canaries, but {n_missing} of {len(missing)} "
                "are missing or NaN. Score the canaries that were left out too.",
                argument=argument,
            )
        from scipy import stats

        n_in, n_missing_in = int(self.included.sum()), int((missing & self.included).sum())
        law = stats.hypergeom(len(missing), n_in, n_missing)
        if 2.0 * min(law.cdf(n_missing_in), law.sf(n_missing_in - 1)) <= STATED_COINS_LEVEL:
            raise ParameterError(
                f"{argument} must be missing independently of the coins, but {plural(n_missing_in, 'score')} of {n_in} "
                f"included and {n_missing - n_missing_in} of {len(missing) - n_in} excluded canaries are missing. "
                "Score all canaries with the same code.",
                argument=argument,
            )


def _by_id(mapping: Any, argument: str) -> dict[str, float]:
    """Return id as text -> value, checked for duplicates and for values that are not real numbers."""
    if not isinstance(mapping, Mapping) and type(mapping).__name__ != "Series":
        raise ParameterError(
            f"{argument} must be a dictionary from id to number, or a pandas Series with the ids as index, but is "
            f"{type(mapping).__name__}. Try dict(zip(coins.ids, values)).",
            argument=argument,
        )
    ids = _texts(mapping.keys(), argument)
    if len(set(ids)) < len(ids):
        raise ParameterError(
            f"{argument} must have one value per id, but there are several for {_listed(_repeated(ids))}.",
            argument=argument,
        )
    return {id_: _number(value, id_, argument) for id_, (_, value) in zip(ids, mapping.items(), strict=True)}


def _number(value: Any, id_: str, argument: str) -> float:
    """Return a score as a float, NaN if it is missing: a number, or an array or tensor of one number."""
    if value is None or type(value).__name__ == "NAType":
        return math.nan
    try:
        if getattr(getattr(value, "dtype", None), "kind", "f") not in "biufV":  # V: the bfloat16 of JAX
            raise TypeError
        single = value.item() if hasattr(value, "item") else value
        if isinstance(single, (str, bytes, complex)):
            raise TypeError
        return float(single)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        shown = " ".join(reprlib.repr(value).split())
        raise ParameterError(
            f"{argument} must be one real number per id, but that of {id_!r} is {shown} ({type(value).__name__}).",
            argument=argument,
        ) from None


def _texts(ids: Any, argument: str = "ids") -> tuple[str, ...]:
    """Return ids as text; raise `ParameterError` for ids that are neither texts nor whole numbers."""
    if isinstance(ids, (str, bytes)) or not isinstance(ids, Iterable) or getattr(ids, "ndim", 1) != 1:
        actual = f"shape {ids.shape}" if getattr(ids, "ndim", 1) != 1 else f"one {type(ids).__name__}"
        raise ParameterError(
            f"{argument} must be a list, a column or an array of ids, shape (n_canaries,), but is {actual}. Number the "
            "canaries with range(n_canaries), or give one column, such as table['id'].",
            argument=argument,
        )
    return tuple(_text(id_, argument) for id_ in ids)


def _text(id_: Any, argument: str) -> str:
    single = id_.item() if getattr(id_, "ndim", None) == 0 and hasattr(id_, "item") else id_
    if isinstance(single, str) and single.strip():
        return str(single)
    if isinstance(single, Integral) and not isinstance(single, bool):
        return str(int(single))
    raise ParameterError(
        f"{argument} must have ids that are texts, not empty, or whole numbers, but one is "
        f"{reprlib.repr(id_)} ({type(id_).__name__}). Convert ids to text the same way before training and after.",
        argument=argument,
    )


def _repeated(ids: Iterable[str]) -> list[str]:
    earlier: set[str] = set()
    return sorted({id_ for id_ in ids if id_ in earlier or earlier.add(id_)})  # type: ignore[func-returns-value]


def _listed(ids: Iterable[str]) -> str:
    """Return the first ids, quoted."""
    quoted = [text if len(text) <= LONGEST_ID else f"{text[: LONGEST_ID - 3]}..." for text in map(repr, ids)]
    more = f" and {len(quoted) - LISTED} more" if len(quoted) > LISTED else ""
    return ", ".join(quoted[:LISTED]) + more


__all__ = ["Coins"]
