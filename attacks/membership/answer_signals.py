"""Signals of the answers of an assistant: higher = more like an answer of an assistant that has the document.

    verbatim      share of the answers that have the secret, up to case, spaces and hyphens
    overlap       share of the words of the document that are in the answer, which may be those of the question
    probability   log probability of the secret, where the assistant states it
    learned       logistic regression on the signals above and the other words of the answers, fitted on pilot units

A signal is a mean over the documents of a unit. Over several accounts it is the mean, or the largest value: the pilot
chooses, or the caller names a signal, whose mean is taken.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...mechanisms.core import AttackError, Bools, Floats, ParameterError
from ..canaries.documents import CanaryDocument

LEARNED = "learned"
SIGNALS = ("verbatim", "overlap", "probability", LEARNED)
"""Names of the signals."""
FEWEST_OF_A_SIDE = 5
"""Fewest pilot units that are in, and that are out."""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, eq=False)
class UnitAnswers:
    """Answers about all documents, by account.

    Args:
        canaries: `(n_documents,)` the documents.
        answers: `(n_accounts, n_documents)` the answers, all turns joined.
        log_probabilities: `(n_accounts, n_documents)` of the secrets; NaN where the assistant states none.
    """

    canaries: Sequence[CanaryDocument]
    answers: Sequence[Sequence[str]]
    log_probabilities: Floats

    @cached_property
    def signals(self) -> dict[str, Floats]:
        """Name -> `(n_accounts, n_units)` signals that need no pilot."""
        by_document = {
            "verbatim": [[_has(text, canary.secret) for canary, text in self._of(row)] for row in self.answers],
            "overlap": [[_overlap(canary, text) for canary, text in self._of(row)] for row in self.answers],
        }
        if not np.isnan(self.log_probabilities).any():
            by_document["probability"] = self.log_probabilities.tolist()
        return {name: self._by_unit(np.asarray(values, dtype=np.float64)) for name, values in by_document.items()}

    def _of(self, row: Sequence[str]) -> Any:
        return zip(self.canaries, row, strict=True)

    @cached_property
    def _unit(self) -> Any:
        place = {unit: i for i, unit in enumerate(dict.fromkeys(canary.unit for canary in self.canaries))}
        return np.array([place[canary.unit] for canary in self.canaries])

    def _by_unit(self, values: Floats) -> Floats:
        n_documents = np.bincount(self._unit)
        return np.stack([np.bincount(self._unit, weights=row) / n_documents for row in values])

    @cached_property
    def _words(self) -> list[str]:
        """Other words of all answers to each unit; words with digits, and those of the documents, are left out."""
        own = [set(_words_of(canary.document)) for canary in self.canaries]
        texts = [""] * (int(self._unit.max()) + 1)
        for row in self.answers:
            for unit, known, text in zip(self._unit, own, row, strict=True):
                texts[unit] += " " + " ".join(w for w in _words_of(text) if w not in known and w.isalpha())
        return texts

    def scores(self, signal: str | None, pilot: Bools, included: Bools) -> tuple[Floats, str]:
        """Return one score for each unit, and the attack in words.

        Args:
            signal: one of `SIGNALS`, fixed beforehand; None to choose the attack with the largest AUC on the pilot.
            pilot: `(n_units,)` True for the pilot units, the only ones whose bits are read.
            included: `(n_pilot,)` bits of the pilot units, in order.

        Raises:
            AttackError: the assistant states no probabilities.
            ParameterError: too few pilot units.
        """
        if signal is not None and signal != LEARNED:
            if signal not in self.signals:
                raise AttackError("the signal probability needs log_probability with every answer.")
            return self.signals[signal].mean(axis=0), signal
        n_in = int(included.sum())
        if min(n_in, len(included) - n_in) < FEWEST_OF_A_SIDE:
            raise ParameterError(
                f"pilot must hold {FEWEST_OF_A_SIDE} included and {FEWEST_OF_A_SIDE} excluded units or more, but has "
                f"{n_in} and {len(included) - n_in}. Make more canaries, or choose a signal beforehand.",
                argument="pilot",
            )
        if signal == LEARNED:
            return self._learned(pilot, included), LEARNED
        from sklearn.metrics import roc_auc_score

        candidates: dict[str, tuple[Floats, Floats]] = {}
        for name, values in self.signals.items():
            combined = (
                {"mean": values.mean(axis=0), "largest": values.max(axis=0)} if len(values) > 1 else {"": values[0]}
            )
            for how, score in combined.items():
                candidates[f"{name}, {how} over accounts" if how else name] = score, score[pilot]
        candidates[LEARNED] = self._learned(pilot, included), self._held_out(pilot, included)
        auc = {name: roc_auc_score(included, on_pilot) for name, (_, on_pilot) in candidates.items()}
        best = max(auc, key=lambda name: auc[name])
        return candidates[best][0], best

    @cached_property
    def _features(self) -> Floats:
        from sklearn.feature_extraction.text import CountVectorizer

        numbers = np.concatenate(list(self.signals.values())).T
        if not any(text.strip() for text in self._words):
            return numbers
        counts = CountVectorizer(binary=True, max_features=200, token_pattern=r"\S+").fit_transform(self._words)
        return np.hstack([numbers, counts.toarray()])

    def _learned(self, pilot: Bools, included: Bools) -> Floats:
        return np.asarray(_classifier().fit(self._features[pilot], included).decision_function(self._features))

    def _held_out(self, pilot: Bools, included: Bools) -> Floats:
        from sklearn.model_selection import StratifiedKFold, cross_val_predict

        folds = StratifiedKFold(FEWEST_OF_A_SIDE, shuffle=True, random_state=0)
        held_out = cross_val_predict(
            _classifier(), self._features[pilot], included, cv=folds, method="decision_function"
        )
        return np.asarray(held_out)


def _classifier() -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=1_000))


def _words_of(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _has(text: str, secret: str) -> bool:
    """Return whether a text has a secret as whole words, up to case and what stands between its characters."""
    characters = r"\W*".join(map(re.escape, "".join(secret.lower().split())))
    return re.search(rf"(?<!\w){characters}(?!\w)", text.lower()) is not None


def _overlap(canary: CanaryDocument, text: str) -> float:
    words = set(_words_of(canary.document))
    return len(words & set(_words_of(text))) / max(1, len(words))


__all__ = ["LEARNED", "SIGNALS", "UnitAnswers"]
