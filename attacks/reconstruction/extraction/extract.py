"""Extraction of training text: generate, rank, and repeat until the best candidates stay the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from ....mechanisms.core.arrays import Floats
from ....mechanisms.core.constraints import PositiveInt, check_fields
from ....mechanisms.core.errors import ParameterError
from ....mechanisms.learning.ngrams.model import NGramModel
from .generation import Continuations, TextSampling
from .signals import scores


@dataclass(frozen=True, eq=False)
class Extracted:
    """Candidates, the most suspicious first.

    Args:
        texts: distinct texts.
        scores: `(n_texts,)` values of the signal, non-increasing.
        n_written: number of texts that the model generated, repetitions included.
        n_rounds: number of rounds that were run.
        settled: whether the best candidates stayed the same in the last round.
    """

    texts: tuple[str, ...]
    scores: Floats
    n_written: int
    n_rounds: int
    settled: bool

    def holds(self, secrets: Sequence[str]) -> NDArray[np.bool_]:
        """Return an array `(n_secrets,)`: whether each secret occurs, letter by letter, in one of the candidates.

        Raises:
            ParameterError: no secrets, or an empty one, which occurs in every text.
        """
        if isinstance(secrets, str) or not len(secrets) or not all(secrets):
            raise ParameterError(
                f"secrets must be a list of texts that are not empty, but are {secrets!r}.", argument="secrets"
            )
        return np.array([any(secret in text for text in self.texts) for secret in secrets])


@dataclass(frozen=True)
class Extraction:
    """Generation of texts by a model, with a membership signal to select probable training texts.

    Each round generates `n_texts` more. The first round starts from the prompt, or from nothing; later rounds also
    start from the first symbols of the best candidates so far. It ends when a round adds no new text to the best
    `keep`, or after `rounds`. (Carlini et al. 2021: candidates by sampling, ranked by a membership signal; repeating
    until the signal is strong: Carlini, Tramer, Wallace et al. 2020.)

    Args:
        sampling: how texts are generated.
        n_texts: texts per round, >= 1.
        keep: number of best candidates, >= 1.
        signal: one of `dpassay.attacks.reconstruction.extraction.signals.SIGNALS`.
        rounds: largest number of rounds, >= 1.
        prompt: first symbols of the texts.
        stop: a symbol that ends a text: everything after it is cut off; None: no such symbol.
    """

    sampling: TextSampling
    _: KW_ONLY
    n_texts: PositiveInt = 200
    keep: PositiveInt = 20
    signal: str = "reference"
    rounds: PositiveInt = 10
    prompt: str = ""
    stop: str | None = None

    def __post_init__(self) -> None:
        check_fields(self)

    def run(self, model: NGramModel, rng: np.random.Generator, *, reference: NGramModel | None = None) -> Extracted:
        """Return the best candidates.

        Args:
            model: model of one run, under attack.
            rng: the only source of randomness.
            reference: reference model for the signal "reference".

        Raises:
            ParameterError: an input of the signal is missing, or all generated texts are empty.
        """
        best: dict[str, float] = {}
        continuations = Continuations(model, self.sampling)
        n_rounds, settled = 0, False
        while n_rounds < self.rounds and not settled:
            n_rounds, previous_best = n_rounds + 1, set(best)
            generated = {text: 0.0 for text in self._generate(continuations, rng, list(best)) if text}
            if not generated and not best:
                raise ParameterError(
                    f"stop must not end every text before it begins, but is {self.stop!r}, and all of the "
                    f"{self.n_texts} generated texts are empty.",
                    argument="stop",
                )
            new_texts = [text for text in generated if text not in best]
            if new_texts:
                best |= dict(zip(new_texts, scores(self.signal, model, new_texts, reference).tolist(), strict=True))
            best = dict(sorted(best.items(), key=lambda item: (-item[1], item[0]))[: self.keep])
            settled = set(best) == previous_best
        return Extracted(tuple(best), np.array(list(best.values())), n_rounds * self.n_texts, n_rounds, settled)

    def _generate(self, continuations: Continuations, rng: np.random.Generator, best: list[str]) -> list[str]:
        """Return new texts; half of them start from the first symbols of the best texts so far."""
        model, length = continuations.model, self.sampling.length
        starts = sorted(
            {model.alphabet.decode(model.alphabet.encode([text]).tokens[: model.n - 1].tolist()) for text in best}
        )
        starts = [start for start in starts if len(model.alphabet.encode([start]).tokens) < length and start]
        n_from_prompt = self.n_texts if not starts else self.n_texts - self.n_texts // 2
        texts = self.sampling.texts(continuations, n_from_prompt, rng, prompt=self.prompt)
        if starts:
            n_per_start = rng.multinomial(
                self.n_texts - n_from_prompt, np.full(len(starts), 1.0 / len(starts))
            ).tolist()
            for start, number in zip(starts, n_per_start, strict=True):
                texts += self.sampling.texts(continuations, number, rng, prompt=start) if number else []
        return texts if self.stop is None else [text.partition(self.stop)[0] for text in texts]
