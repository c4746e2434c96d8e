"""Membership, exposure and extraction of texts under one language model; with coins, a lower bound on epsilon.

    texts with log probabilities of their tokens -> signals -> membership table, exposure, extraction
    ... and the coins of the texts               -> bound and verdict on the claim of the training

Metrics: the table has the AUC of each signal and its true positive rates at low false positive rates, with the
intervals of one model (roc.py). Shares of extractable texts have Clopper and Pearson's limits, each at the stated
confidence: they hold for texts like these, drawn independently, and this model. None of them bounds epsilon.

Audit. Null hypothesis: the training satisfies the claim, for each text that is in or out. Fixed before looking: the
coins, the bound, the direction, and the signal, which is named by the caller or chosen by a rule that reads which
fields exist (`default_signal`). The score of a text depends on the model and on this text and its alternatives, not on
its coin. The bound is that of `Coins.audit` on this one signal. The table is computed for all signals and is no part
of the audit: a signal that was chosen from it needs a new run, with new coins.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ....attacks.membership.memorization import extractable, mean_exposure_without
from ....attacks.membership.scored_texts import ScoredTexts
from ....attacks.membership.shadows import Shadows
from ....attacks.membership.token_signals import (
    MIN_K_SHARE,
    TEXT_SIGNALS,
    blind_features,
    default_signal,
    signal_of,
    split_by,
)
from ....mechanisms.core.arrays import Bools, Floats
from ....mechanisms.core.errors import AttackError, ParameterError, UnknownNameError
from ....mechanisms.core.guarantee import Guarantee
from ....mechanisms.core.validation import open_unit, whole
from ...bounds.base import LedgerEntry
from ...bounds.catalogue import BoundChoice
from ...bounds.numerics import binomial
from ...evidence.verdict import Verdict
from ...games.coins import Coins
from ...results.audit_result import AuditResult
from ...results.saved import Described
from .evaluate import measure
from .feature_baseline import FeatureBaseline, feature_baseline
from .result import AttackMetrics, MembershipResult

if TYPE_CHECKING:
    import pandas as pd

NUMBERS_OF_QUERIES = (1, 10, 100, 1_000, 10_000, 100_000)
"""Default numbers n of queries of the table of extraction."""
EXTRACTION_PROBABILITY = 0.5
"""Default probability p of the table of extraction."""
MIN_TEXTS_FOR_FEATURES = 10
"""Fewest members, and non-members, of the baseline without a model."""
WITH_COINS = "one model; each text in its training data by an independent fair coin"
WITHOUT_COINS = "one model; members and non-members as supplied: not known to be drawn by fair coins"


@dataclass(frozen=True)
class ExtractionRate:
    """Share of the texts that are (n, p)-discoverably extractable.

    Args:
        texts: "members", "non-members" or "texts" where membership is unknown.
        n, p: number of queries, and probability of the suffix among the answers.
        n_extractable, n_texts: counts; texts without `prefix_tokens` are not counted.
        lower, upper: confidence interval of the share.
    """

    texts: str
    n: int
    p: float
    n_extractable: int
    n_texts: int
    lower: float
    upper: float

    @property
    def share(self) -> float:
        """Share of the texts."""
        return self.n_extractable / self.n_texts


@dataclass(frozen=True)
class MeanExposure:
    """Mean exposure of canaries, in bits: a metric without coverage.

    Args:
        texts: "members", "non-members" or "texts" where membership is unknown.
        mean, largest: of the canaries.
        limit: mean of log2 of the numbers of candidates, the largest possible value.
        without: mean exposure of canaries that were never in the data.
        n_canaries: number of canaries.
    """

    texts: str
    mean: float
    largest: float
    limit: float
    without: float
    n_canaries: int


@dataclass(frozen=True, eq=False, repr=False)
class LanguageModelResult(Described):
    """Signals, metrics and, with coins, the audit of texts under one language model.

    Args:
        ids: `(n_texts,)` names of the texts.
        member: `(n_texts,)` membership; None if unknown.
        signals: name -> `(n_texts,)`, higher = more like a member; NaN for the exposure of a text that is no canary.
        membership: the table of all signals; None if the membership is unknown.
        audit: verdict on the claim; None without coins.
        extraction: shares of extractable texts, empty without `prefix_tokens`.
        exposure: mean exposures, empty without alternatives.
        skipped: signals that could not be computed, and the reasons.
        notes: what was cut from the texts, and warnings about them.
    """

    DESCRIBED_BY: ClassVar[str] = "audit.metrics.membership.language_model_text"

    ids: tuple[str, ...]
    member: Bools | None
    signals: Mapping[str, Floats]
    membership: MembershipResult | None
    audit: AuditResult | None = None
    extraction: tuple[ExtractionRate, ...] = ()
    exposure: tuple[MeanExposure, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = field(default=())

    @property
    def verdict(self) -> Verdict | None:
        """Verdict of the audit; None without one."""
        return None if self.audit is None else self.audit.verdict

    def to_frame(self) -> pd.DataFrame:
        """Return one row per text: id, membership if known, and all signals."""
        import pandas as pd

        known = {} if self.member is None else {"member": self.member}
        return pd.DataFrame({"id": list(self.ids), **known, **self.signals})

    def extraction_frame(self) -> pd.DataFrame:
        """Return one row per entry of `extraction`."""
        import pandas as pd

        return pd.DataFrame([{**vars(rate), "share": rate.share} for rate in self.extraction])

    def __repr__(self) -> str:
        verdict = "no audit" if self.audit is None else str(self.audit.verdict)
        return f"<LanguageModelResult {len(self.ids):,} texts, {len(self.signals)} signals, {verdict}>"


def evaluate_texts(
    texts: ScoredTexts,
    *,
    coins: Coins | None = None,
    claim: Guarantee | None = None,
    delta: float | None = None,
    signal: str | None = None,
    relation: str = "add_remove",
    confidence: float = 0.95,
    share: float = MIN_K_SHARE,
    queries: Sequence[int] = NUMBERS_OF_QUERIES,
    p: float = EXTRACTION_PROBABILITY,
    looks: int = 1,
    bound: BoundChoice = "auto",
) -> LanguageModelResult:
    """Compute all signals that the texts allow, their membership table, and with coins the audit of the claim.

    Args:
        texts: texts with the log probabilities of their tokens.
        coins: coins of the texts, tossed before training; None for metrics only. The membership is then that of the
            coins.
        claim: the guarantee under test; required with coins.
        delta, relation, looks, bound: see `Coins.audit`.
        signal: the audited signal, chosen before looking at the scores; None for `default_signal`.
        confidence: of the bound, and of each interval.
        share: share k of the tokens of min-k and min-k++.
        queries, p: entries of the table of extraction.

    Raises:
        ParameterError: coins without a claim, or the reverse; texts without a coin; members that contradict the coins;
            members only, or non-members only.
        UnknownNameError: no such signal.
        AttackError: a named signal that these texts do not allow.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> coins = Coins.toss(range(400), seed=0)
        >>> rows = [np.log(rng.uniform(0.6, 1.0, 8) if bit else rng.uniform(0.0, 0.5, 8)) for bit in coins.included]
        >>> from dpassay.mechanisms.accounting import ApproximateDP
        >>> result = evaluate_texts(ScoredTexts(rows), coins=coins, claim=ApproximateDP(1.0, 1e-5))
        >>> result.audit.verdict.value, result.membership["loss"].auc > 0.99
        ('violation', True)
    """
    open_unit(confidence=confidence, p=p)
    for n in queries:
        whole(1, queries=n)
    if (coins is None) != (claim is None):
        missing = "coins" if coins is None else "claim"
        raise ParameterError(
            f"{missing} must be given too: coins and claim are used together, for an audit.", argument=missing
        )
    if coins is None and signal is not None:
        raise ParameterError("signal is for an audit with coins; the table has all signals.", argument="signal")
    if signal is not None and signal not in TEXT_SIGNALS:
        raise UnknownNameError("signal", signal, TEXT_SIGNALS)
    member = _membership(texts, coins)
    signals, skipped = _signals(texts, share)
    return LanguageModelResult(
        ids=texts.names,
        member=member,
        signals=signals,
        membership=None if member is None else _table(texts, signals, skipped, member, coins, confidence),
        audit=None
        if coins is None
        else _audit(texts, signals, signal, coins, claim, delta, relation, confidence, looks, bound),
        extraction=_extraction(texts, member, queries, p, confidence),
        exposure=_exposure(texts, signals, member),
        skipped=tuple(skipped),
        notes=(*texts.padding, *_notes(texts, member)),
    )


def _membership(texts: ScoredTexts, coins: Coins | None) -> Bools | None:
    """Return the membership by the coins, or as given; None if unknown."""
    stated = None if texts.member is None else np.asarray(texts.member, dtype=np.bool_)
    if coins is None:
        member = stated
    else:
        bits = dict(zip(coins.ids, coins.included.tolist(), strict=True))
        unknown = [id_ for id_ in texts.names if id_ not in bits]
        if unknown:
            raise ParameterError(
                f"texts must have ids that a coin was tossed for, but {len(unknown)} of {len(texts)} have none, the "
                f"first {unknown[0]!r}. Leave out texts that are no canaries. Known ids begin with "
                f"{', '.join(map(repr, coins.ids[:3]))}.",
                argument="texts",
            )
        member = np.array([bits[id_] for id_ in texts.names], dtype=np.bool_)
        if stated is not None and (stated != member).any():
            first = int(np.flatnonzero(stated != member)[0])
            raise ParameterError(
                f"member contradicts the coins for {int((stated != member).sum())} of {len(texts)} texts, the first "
                f"{texts.names[first]!r}, whose coin {'included' if member[first] else 'excluded'} it. Train with the "
                "included texts only, and leave member out.",
                argument="member",
            )
    if member is not None and (member.all() or not member.any()):
        raise ParameterError(
            f"member must have members and non-members, but all {len(member)} texts are "
            f"{'members' if member.all() else 'non-members'}. Score texts of both kinds with the same code, or leave "
            "member out.",
            argument="member",
        )
    return member


def _signals(texts: ScoredTexts, share: float) -> tuple[dict[str, Floats], list[tuple[str, str]]]:
    """Return the signals that the texts allow, and the others with the reason."""
    signals: dict[str, Floats] = {}
    skipped = []
    for name in TEXT_SIGNALS:
        try:
            signals[name] = signal_of(name, texts, share=share)
        except AttackError as error:
            skipped.append((name, str(error)))
    return signals, skipped


def _table(
    texts: ScoredTexts,
    signals: Mapping[str, Floats],
    skipped: list[tuple[str, str]],
    member: Bools,
    coins: Coins | None,
    confidence: float,
) -> MembershipResult:
    order = np.random.default_rng(0).permutation(len(member))  # halves for held-out thresholds, in any order of lines
    shadows = Shadows(member[None, order], np.zeros(len(member)), fair=coins is not None)
    metrics: list[AttackMetrics] = []
    skipped = list(skipped)
    for name, values in signals.items():
        if min(map(len, split_by(values, member))) == 0:
            skipped.append((name, "no member or no non-member has it"))
        else:
            metrics.append(measure(name, values[None, order], shadows, confidence=confidence, alone=True))
    return MembershipResult(
        attacks=tuple(metrics),
        n_models=1,
        n_records=len(member),
        design=(WITHOUT_COINS if coins is None else WITH_COINS) + ("; padding was cut" if texts.padding else ""),
        confidence=confidence,
        feature_baseline=_baseline(texts, member, confidence) if coins is None else None,
        skipped=tuple(skipped),
    )


def _baseline(texts: ScoredTexts, member: Bools, confidence: float) -> FeatureBaseline | None:
    if min(member.sum(), (~member).sum()) < MIN_TEXTS_FOR_FEATURES:
        return None
    return feature_baseline(blind_features(texts), member, confidence=confidence)


def _audit(
    texts: ScoredTexts,
    signals: Mapping[str, Floats],
    signal: str | None,
    coins: Coins,
    claim: Any,
    delta: float | None,
    relation: str,
    confidence: float,
    looks: int,
    bound: BoundChoice,
) -> AuditResult:
    name = signal or default_signal(texts)
    if name not in signals:
        signal_of(name, texts)  # raises the reason
    result = coins.audit(
        dict(zip(texts.names, signals[name].tolist(), strict=True)),
        claim=claim,
        delta=delta,
        confidence=confidence,
        relation=relation,
        looks=looks,
        bound=bound,
        source=f"{name} of texts",
    )
    rule = "by the rule: reference-ratio if there is a reference, otherwise loss" if signal is None else "by the caller"
    entry = LedgerEntry("signal", f"{name}, {rule}", "fixed before the scores were compared with the coins")
    cut = [LedgerEntry("padding", text, "decided from all outputs, not from the coins") for text in texts.padding]
    return replace(result, attack=f"{name} of the texts", ledger=(entry, *cut, *result.ledger))


def _groups(member: Bools | None, n: int) -> dict[str, Bools]:
    if member is None:
        return {"texts": np.ones(n, dtype=np.bool_)}
    return {"members": member, "non-members": ~member}


def _extraction(
    texts: ScoredTexts, member: Bools | None, queries: Sequence[int], p: float, confidence: float
) -> tuple[ExtractionRate, ...]:
    log_p, tail = texts.suffix_log_probability, 0.5 * (1.0 - confidence)
    rates = []
    for name, group in _groups(member, len(texts)).items():
        known = log_p[group & ~np.isnan(log_p)]
        for n in queries if len(known) else ():
            k, size = int(extractable(known, n, p).sum()), len(known)
            limits = float(binomial.lower(k, size, tail)), float(binomial.upper(k, size, tail))
            rates.append(ExtractionRate(name, n, p, k, size, *limits))
    return tuple(rates)


def _exposure(texts: ScoredTexts, signals: Mapping[str, Floats], member: Bools | None) -> tuple[MeanExposure, ...]:
    if "exposure" not in signals or texts.alternatives is None:
        return ()
    bits = signals["exposure"]
    sizes = np.array([math.nan if others is None else 1 + np.size(others) for others in texts.alternatives])
    found = []
    for name, group in _groups(member, len(texts)).items():
        known = group & ~np.isnan(bits)
        if known.any():
            without = float(np.mean([mean_exposure_without(int(size)) for size in sizes[known]]))
            limit = float(np.log2(sizes[known]).mean())
            found.append(
                MeanExposure(
                    name, float(bits[known].mean()), float(bits[known].max()), limit, without, int(known.sum())
                )
            )
    return tuple(found)


def _notes(texts: ScoredTexts, member: Bools | None) -> tuple[str, ...]:
    """Return a warning about texts that are members and non-members at once."""
    if texts.texts is None or member is None:
        return ()
    inside = {text for text, bit in zip(texts.texts, member, strict=True) if bit}
    both = sum(text in inside for text, bit in zip(texts.texts, member, strict=True) if not bit)
    if not both:
        return ()
    return (f"WARNING   {both:,} non-members have the same text as a member, which lowers every metric.",)
