"""Extraction of training text: write, rank, and repeat until the best ones stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.errors import ParameterError
from ...mechanisms.queries.base import Floats
from ...mechanisms.text.model import NGramModel
from ...mechanisms.validation import whole
from .generation import Continuations, Sampling
from .signals import scores


@dataclass(frozen=True, eq=False)
class Extracted:
    """Candidates, the most suspicious first.

    Args:
        texts: different ones.
        scores: `(n_texts,)` of the signal, non-increasing.
        n_written: texts that the model wrote, repetitions included.
        n_rounds: until the best ones stayed the same, or were given up.
        settled: whether they stayed the same.
    """

    texts: tuple[str, ...]
    scores: Floats
    n_written: int
    n_rounds: int
    settled: bool

    def holds(self, secrets: Sequence[str]) -> NDArray[np.bool_]:
        """`(n_secrets,)` whether each secret stands, letter by letter, in one of the candidates.

        Raises:
            ParameterError: no secrets, or an empty one, which every text holds.
        """
        if isinstance(secrets, str) or not len(secrets) or not all(secrets):
            raise ParameterError(
                f"secrets must be a list of texts that are not empty, but are {secrets!r}.", argument="secrets"
            )
        return np.array([any(secret in text for text in self.texts) for secret in secrets])


@dataclass(frozen=True)
class Extraction:
    """Has a model write texts, and keeps those that a signal takes for training text.

    Each round writes `n_texts` more. The first starts from nothing, or from the prompt; later ones also go on from what
    the best candidates so far begin with. It ends when a round brings no new text among the best `keep`, or after
    `rounds`. (Carlini et al. 2021: candidates by sampling, ranked by a membership signal; repeating until the signal is
    strong: Carlini, Tramer, Wallace et al. 2020.)

    Args:
        sampling: how texts are written.
        n_texts: in each round, >= 1.
        keep: candidates that count, >= 1.
        signal: one of `dpassay.attacks.extraction.signals.SIGNALS`.
        rounds: at most, >= 1.
        prompt: what texts begin with.
        stop: a symbol that ends a text: what is written after it is cut off; None: none.
    """

    sampling: Sampling
    _: KW_ONLY
    n_texts: int = 200
    keep: int = 20
    signal: str = "reference"
    rounds: int = 10
    prompt: str = ""
    stop: str | None = None

    def __post_init__(self) -> None:
        whole(1, n_texts=self.n_texts, keep=self.keep, rounds=self.rounds)

    def run(self, model: NGramModel, rng: np.random.Generator, *, reference: NGramModel | None = None) -> Extracted:
        """The best candidates.

        Args:
            model: that is attacked, of one run.
            rng: the only source of randomness.
            reference: for the signal "reference".

        Raises:
            ParameterError: a signal that needs what is not there; nothing but empty texts was written.
        """
        best: dict[str, float] = {}
        after = Continuations(model, self.sampling)
        n_rounds, settled = 0, False
        while n_rounds < self.rounds and not settled:
            n_rounds, before = n_rounds + 1, set(best)
            written = {text: 0.0 for text in self._written(after, rng, list(best)) if text}
            if not written and not best:
                raise ParameterError(
                    f"stop must not end every text before it begins, but is {self.stop!r}, and all of the "
                    f"{self.n_texts} texts that were written are empty.",
                    argument="stop",
                )
            fresh = [text for text in written if text not in best]
            if fresh:
                best |= dict(zip(fresh, scores(self.signal, model, fresh, reference).tolist(), strict=True))
            best = dict(sorted(best.items(), key=lambda item: (-item[1], item[0]))[: self.keep])
            settled = set(best) == before
        return Extracted(tuple(best), np.array(list(best.values())), n_rounds * self.n_texts, n_rounds, settled)

    def _written(self, after: Continuations, rng: np.random.Generator, best: list[str]) -> list[str]:
        """New texts: a half of them goes on from the first symbols of the best so far."""
        model, length = after.model, self.sampling.length
        starts = sorted(
            {model.alphabet.decode(model.alphabet.encode([text]).tokens[: model.n - 1].tolist()) for text in best}
        )
        starts = [start for start in starts if len(model.alphabet.encode([start]).tokens) < length and start]
        plain = self.n_texts if not starts else self.n_texts - self.n_texts // 2
        texts = self.sampling.texts(after, plain, rng, prompt=self.prompt)
        if starts:
            chosen = rng.multinomial(self.n_texts - plain, np.full(len(starts), 1.0 / len(starts))).tolist()
            for start, number in zip(starts, chosen, strict=True):
                texts += self.sampling.texts(after, number, rng, prompt=start) if number else []
        return texts if self.stop is None else [text.partition(self.stop)[0] for text in texts]
