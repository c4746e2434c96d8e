"""Audits of fine-tuning with Hugging Face: canaries in the training texts, and a callback for the Trainer.

    texts = random_strings(1_000, tokenizer, seed=0)                  # or sampled_texts, or texts of your own
    coins = Coins.toss(texts, file="coins.json")                      # a canary is its text: that is the id of its coin
    train = with_canaries(dataset, coins, tokenizer)                  # the included ones only
    audit = AuditCallback(coins, claim=ApproximateDP(4.0, 1e-5))
    Trainer(..., train_dataset=train, callbacks=[audit]).train()      # audit.result

The callback computes the log probability of each token of every canary before training, which is the reference, and
after it. It changes neither weights nor random states: training takes the same steps as without it.

The unit of the claim is one text. The Trainer must see each canary as one sequence of its own: training that packs
several texts into a sequence, or truncates a canary, is refused. Rows of tokens are searched for all canaries: each is
in as many rows as its coin says. A warning tells where they cannot be searched.
"""

from __future__ import annotations

import json
import random
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers import TrainerCallback

from ..audit.games.coins import Coins
from ..audit.metrics.membership.language_models import LanguageModelResult
from ..experiments.runs.kept import keep
from ..experiments.tasks.judgement import shown_by_canaries
from ..experiments.tasks.texts import TextStudy
from ..mechanisms.accounting import ApproximateDP, PureDP
from ..mechanisms.core import DpassayError, ParameterError, open_unit, whole

if TYPE_CHECKING:
    from collections.abc import Iterator

Tokens = tuple[int, ...]
TOKENIZED = {"input_ids", "attention_mask", "labels", "token_type_ids"}
"""Columns of a dataset of tokens."""
COINS, REFERENCE = "coins.json", "reference.json"
ROWS = {
    "messages": '{"messages": [{"role": "assistant", "content": text}]}',
    "chosen": '{"prompt": "", "chosen": text, "rejected": " ".join(text.split()[::-1])}',
    "text": '{"text": text}',
    "completion": '{"prompt": "", "completion": text}',
}
"""The row of a text in a dataset with a column of this name."""
PACKED = (
    "packing puts several texts into one sequence, whose gradient is clipped as a whole: the claim is then for a "
    "sequence, and not for a text. Train on one text in a row: packing=False, padding_free=False, and no step such as "
    "group_texts, which joins texts."
)


def plain_tokens(tokenizer: Any) -> list[str]:
    """Return the words of a tokenizer that are letters and digits, in the order of their numbers.

    In a vocabulary that was learned by merging, the last ones are rare: `inserted_tokens(texts, n, seed=0,
    vocabulary=plain_tokens(tokenizer)[-256:])` inserts rare tokens into texts.
    """
    special = set(tokenizer.all_special_ids)
    words = (tokenizer.decode([number]).strip() for number in range(len(tokenizer)) if number not in special)
    return list(dict.fromkeys(word for word in words if word.isascii() and word.isalnum()))


def random_strings(n: int, tokenizer: Any, *, seed: int, n_tokens: int = 12) -> list[str]:
    """Return n different texts of random words of the tokenizer, which nothing but training with them makes likely.

    Args:
        n: number of texts, >= 1.
        tokenizer: of the model.
        seed: seed of the texts, which must not be that of the coins or of the training.
        n_tokens: number of words of a text, >= 1.

    Raises:
        ParameterError: there are fewer than n such texts.
    """
    whole(1, n=n, n_tokens=n_tokens)
    words = plain_tokens(tokenizer)
    if len(words) ** n_tokens < 2 * n:
        raise ParameterError(
            f"n must be at most {len(words) ** n_tokens // 2}, but is {n}: the tokenizer has {len(words)} words of "
            f"letters and digits, and a text has {n_tokens}.",
            argument="n",
        )
    rng, texts = np.random.default_rng(seed), dict[str, None]()
    while len(texts) < n:
        texts[" ".join(words[i] for i in rng.integers(len(words), size=n_tokens))] = None
    return list(texts)


def sampled_texts(
    model: Any, tokenizer: Any, n: int, *, seed: int, temperature: float = 1.0, n_tokens: int = 32
) -> list[str]:
    """Return n different texts that the model itself writes, which look like its data and are not in them.

    Args:
        model: a causal language model, before training.
        tokenizer: of the model.
        n: number of texts, >= 1.
        seed: seed of the texts, which must not be that of the coins or of the training.
        temperature: of the samples, >= 0.8: colder samples repeat each other.
        n_tokens: largest number of tokens of a text, >= 1. Texts of fewer than half of it are left out: a name or a
            greeting is in other texts too.

    Raises:
        ParameterError: the model repeats itself: n different texts were not found among 20 n.
    """
    whole(1, n=n, n_tokens=n_tokens)
    if not 0.8 <= temperature < float("inf"):
        raise ParameterError(argument="temperature", value=temperature, allowed="be a number >= 0.8")
    start, texts = tokenizer.bos_token_id or tokenizer.eos_token_id or 0, dict[str, None]()
    with torch.random.fork_rng(), _evaluating(model):
        torch.manual_seed(seed)
        for _ in range(20):
            prompts = torch.full((n, 1), start, device=_device(model))
            written = model.generate(
                prompts,
                attention_mask=torch.ones_like(prompts),
                do_sample=True,
                temperature=temperature,
                max_new_tokens=n_tokens,
                pad_token_id=tokenizer.pad_token_id or 0,
            )
            for text in map(str.strip, tokenizer.batch_decode(written, skip_special_tokens=True)):
                if text and 2 * len(tokenizer(text, add_special_tokens=False)["input_ids"]) >= n_tokens:
                    texts[text] = None
            if len(texts) >= n:
                return list(texts)[:n]
    raise ParameterError(
        f"n must be at most {len(texts)}: the model writes no more different texts of {n_tokens / 2:g} tokens or more.",
        argument="n",
    )


def with_canaries(
    dataset: Any, coins: Coins, tokenizer: Any, *, row: Callable[[str], Mapping[str, Any]] | None = None
) -> Any:
    """Return a training set with one row for each canary that its coin includes, after the rows of the dataset.

    Args:
        dataset: a list of texts; or a `datasets.Dataset` with a column `text`, or with `input_ids`.
        coins: coins whose ids are the texts of the canaries.
        tokenizer: of the model, which makes the rows of a dataset of `input_ids`.
        row: text -> row, for a dataset with other columns; it must hold the whole text. Columns that it lacks are None.

    Raises:
        ParameterError: a stream or several splits; other columns, and no `row`; a canary that is in the dataset
            already, or that is longer than the tokenizer allows.
    """
    texts = list(coins.included_ids)
    _check_lengths(coins.ids, tokenizer, tokenizer.model_max_length)
    if isinstance(dataset, list):
        _check_new(coins, set(dataset))
        return [*dataset, *texts]
    from datasets import Dataset, concatenate_datasets

    if not isinstance(dataset, Dataset):
        raise ParameterError(
            f"dataset must be a list of texts or a datasets.Dataset, but is a {type(dataset).__name__}. Give one "
            'split, such as dataset["train"], loaded without streaming.',
            argument="dataset",
        )
    known = set(dataset.column_names)
    _check_new(coins, set(dataset["text"]) if "text" in known else set())
    if row is None and known != {"text"} and not {"input_ids"} <= known <= TOKENIZED:
        raise ParameterError(
            f"row must make the row of a text, since the dataset has the columns {', '.join(sorted(known))}, such as "
            f"row=lambda text: {next((ROWS[name] for name in ROWS if name in known), ROWS['completion'])}.",
            argument="row",
        )
    made = row or (lambda text: {"text": text} if known == {"text"} else _tokens_of(text, tokenizer, known))
    empty = dict.fromkeys(dataset.column_names)
    rows = [made(text) for text in texts]
    for made_row in rows:
        if not isinstance(made_row, Mapping) or not known.issuperset(made_row):
            raise ParameterError(
                f"row must return values of the columns {', '.join(sorted(known))}, but returns {made_row!r}.",
                argument="row",
            )
    added = Dataset.from_list([empty | dict(made_row) for made_row in rows], features=dataset.features)
    return concatenate_datasets([dataset, added])


def log_probabilities(model: Any, tokenizer: Any, texts: Sequence[str], *, batch_size: int = 32) -> list[list[float]]:
    """Return the log probability of each token of each text under a causal model, given the tokens before it.

    Texts are what the tokenizer makes of them, as in training; the first token, which nothing precedes, has none.
    Weights, modes and random states stay as they are.

    Args:
        model: returns an object with `logits` `(n_texts, n_tokens, vocabulary)`.
        tokenizer: of the model.
        texts: the texts.
        batch_size: number of texts in one call of the model, >= 1.

    Returns:
        One list for each text, of natural logarithms.

    Raises:
        ParameterError: a text of one token.
    """
    whole(1, batch_size=batch_size)
    rows = [list(map(int, tokenizer(text)["input_ids"])) for text in texts]
    for text, row in zip(texts, rows, strict=True):
        if len(row) < 2:
            raise ParameterError(f"texts must have two tokens or more, but {text!r} has {len(row)}.", argument="texts")
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
    scored: dict[int, list[float]] = {}
    with _evaluating(model), torch.no_grad():
        for first in range(0, len(order), batch_size):
            batch = order[first : first + batch_size]
            width = max(len(rows[i]) for i in batch)
            ids = torch.tensor([rows[i] + [0] * (width - len(rows[i])) for i in batch], device=_device(model))
            mask = torch.tensor([[1] * len(rows[i]) + [0] * (width - len(rows[i])) for i in batch], device=ids.device)
            logits = model(input_ids=ids, attention_mask=mask).logits[:, :-1].float()
            of_tokens = torch.log_softmax(logits, -1).gather(-1, ids[:, 1:, None])[..., 0].cpu().double().tolist()
            scored |= {i: of_tokens[place][: len(rows[i]) - 1] for place, i in enumerate(batch)}
    return [scored[i] for i in range(len(rows))]


class AuditCallback(TrainerCallback):  # type: ignore[misc]  # its class is not typed
    """Audit of the claim of a fine-tuning: pass it to a Trainer of Transformers or TRL, in `callbacks`.

    Args:
        coins: coins whose ids are the texts of the canaries; saved to `out` if they are not in a file yet.
        claim: the claimed guarantee for one text; None with an `accountant`.
        accountant: accountant of the training, such as `privacy_engine.accountant` of Opacus: its
            `get_epsilon(delta)` at the end is the claim.
        delta: delta of the claim that is read from the accountant.
        out: folder for the log probabilities (JSONL), numbers, report and card.
        signal: the audited signal, chosen beforehand; None for the ratio to the model before training.
        looks: number of audits, >= 1: the last at the end of training, the others when the Trainer saves a checkpoint.
            They share the level.
        batch_size: number of canaries in one call of the model.

    Attributes:
        result: result of the last audit; None before it, and where there was no verdict, of which a warning tells.

    Raises:
        ParameterError: texts in place of coins; a claim and an accountant, or neither; a claim of another kind.
    """

    def __init__(
        self,
        coins: Coins,
        *,
        claim: PureDP | ApproximateDP | None = None,
        accountant: Any = None,
        delta: float | None = None,
        out: Path | str = "audit",
        signal: str | None = None,
        looks: int = 1,
        batch_size: int = 32,
    ) -> None:
        if not isinstance(coins, Coins):
            raise ParameterError(
                f"coins must be Coins, but is a {type(coins).__name__}. Toss one for each canary: "
                'coins = Coins.toss(texts, file="coins.json").',
                argument="coins",
            )
        if (claim is None) == (accountant is None):
            raise ParameterError(
                "give either claim, such as ApproximateDP(8.0, 1e-5), or the accountant of the training.",
                argument="claim",
            )
        if claim is not None and not isinstance(claim, PureDP | ApproximateDP):
            allowed = "be PureDP(epsilon) or ApproximateDP(epsilon, delta)"
            raise ParameterError(argument="claim", value=claim, allowed=allowed)
        if accountant is not None:
            if delta is None:
                raise ParameterError("delta is missing: an accountant states epsilon at a delta.", argument="delta")
            open_unit(delta=delta)
        whole(1, looks=looks, batch_size=batch_size)
        self.result: LanguageModelResult | None = None
        self._coins, self._claim, self._accountant, self._delta = coins, claim, accountant, delta
        self._out, self._signal, self._looks, self._batch_size = Path(out), signal, looks, batch_size
        self._reference: list[list[float]] = []
        self._n_audits = 0

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Refuse what this audit cannot test, and score the canaries before training."""
        tokenizer = _tokenizer(kwargs)
        if getattr(args, "packing", False) or getattr(args, "padding_free", False):
            raise ParameterError(PACKED)
        if getattr(args, "deepspeed", None) or getattr(args, "fsdp", None):
            raise ParameterError("the audit needs the whole model in one process, without DeepSpeed or FSDP.")
        model, texts = kwargs.get("model"), self._coins.ids
        limit = getattr(args, "max_length", None) or getattr(args, "max_seq_length", None)
        _check_lengths(texts, tokenizer, limit or tokenizer.model_max_length)
        if positions := getattr(getattr(model, "config", None), "max_position_embeddings", None):
            _check_lengths(texts, tokenizer, positions, "the model has positions for")
        _check_causal(model)
        earlier = list(self._out.glob("*.jsonl"))
        if earlier and (state.global_step == 0 or self._out / "end.jsonl" in earlier):
            raise ParameterError(
                f"out must be a folder without the results of an earlier training, but {self._out} has some. Give "
                "another one for each training. To go on with a finished training (resume_from_checkpoint), copy "
                f"{self._out / REFERENCE} into the other folder: its audit is a further look at the same coins.",
                argument="out",
            )
        kept = self._scores_kept(state)
        dataset = getattr(kwargs.get("train_dataloader"), "dataset", None)
        _check_rows(dataset, self._coins, tokenizer)
        _warn_of_unseen_rows(args, dataset)
        self._out.mkdir(parents=True, exist_ok=True)
        if self._coins.file is None:
            self._coins.save(self._out / COINS)
        if state.is_world_process_zero:
            if self._claim is not None:
                able, shown = shown_by_canaries(len(texts), *_numbers(self._claim))
                if not able:
                    warnings.warn(shown, stacklevel=2)
            self._reference, self._n_audits = kept or self._scores_before(kwargs), len(earlier)

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Audit a checkpoint, if audits beside the last one are planned."""
        if self._n_audits < self._looks - 1 and state.is_world_process_zero:
            self._audit(kwargs, f"step-{state.global_step}")

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Audit the trained model, and print the verdict."""
        if state.is_world_process_zero:
            self._audit(kwargs, "end")
            if self.result is not None and self.result.audit is not None:
                said = self.result.audit.summary(details=False)
                sys.stdout.write(f"{said}\nreport: {self._out / 'end' / 'audit'}\n")

    def _scores(self, kwargs: Mapping[str, Any]) -> list[list[float]]:
        return log_probabilities(kwargs["model"], _tokenizer(kwargs), self._coins.ids, batch_size=self._batch_size)

    def _scores_kept(self, state: Any) -> list[list[float]] | None:
        """Return the scores from before the training that is resumed, if there are any; refuse other coins."""
        if state.global_step == 0 or not state.is_world_process_zero:
            return None
        file = self._out / REFERENCE
        try:
            kept = json.loads(file.read_text(encoding="utf-8"))
            digest, scores = kept["coins"], kept["log_probabilities"]
        except (OSError, ValueError, LookupError, TypeError):
            warnings.warn(
                f"the training is resumed at step {state.global_step:,}, but {file} has no scores of these canaries "
                "from before it: they are compared with the model of this step. Give the `out` of the first start, or "
                f"copy its {REFERENCE} into this one.",
                stacklevel=2,
            )
            return None
        if digest != self._coins.digest:
            raise ParameterError(
                f"coins must be those of the first start of a training that is resumed, but those of {file} are "
                'others. Read them, Coins.load("coins.json"), in place of another toss.',
                argument="coins",
            )
        return [scores[text] for text in self._coins.ids]

    def _scores_before(self, kwargs: Mapping[str, Any]) -> list[list[float]]:
        """Score the canaries before training, and keep the scores for a training that is resumed."""
        scores = self._scores(kwargs)
        kept = {"coins": self._coins.digest, "log_probabilities": dict(zip(self._coins.ids, scores, strict=True))}
        (self._out / REFERENCE).write_text(json.dumps(kept), encoding="utf-8")
        return scores

    def _audit(self, kwargs: Mapping[str, Any], name: str) -> None:
        """Set the result; without a verdict warn, so that the model is not lost."""
        self._n_audits += 1
        self.result = None
        try:
            self.result = self._judged(kwargs, name)
        except DpassayError as error:
            warnings.warn(f"no verdict on this training: {error} Its log probabilities: {self._out}.", stacklevel=2)

    def _judged(self, kwargs: Mapping[str, Any], name: str) -> LanguageModelResult:
        """Score the canaries, write their file, and judge it as `dpassay text` does."""
        file = self._out / f"{name}.jsonl"
        scores = zip(self._coins.ids, self._scores(kwargs), self._reference, strict=True)
        lines = [
            {"id": text, "text": text, "log_probabilities": after, "reference_log_probabilities": before}
            for text, after, before in scores
        ]
        file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        if self._accountant is not None and getattr(self._accountant, "__len__", lambda: 1)() == 0:
            raise ParameterError(
                "the accountant counted no step of this training, so that it states no claim. Is its engine attached "
                "to the optimizer that the Trainer uses?",
                argument="accountant",
            )
        claim = self._claim or ApproximateDP(float(self._accountant.get_epsilon(self._delta)), self._delta or 0.0)
        epsilon, delta = _numbers(claim)
        task = TextStudy(
            file=file,
            coins=self._coins.file,
            epsilon=epsilon,
            delta=delta,
            signal=self._signal,
            looks=self._looks,
            zeros="tokens",
        )
        keep(task, self._out / name)
        result: LanguageModelResult = task.result
        return result


def _numbers(claim: PureDP | ApproximateDP) -> tuple[float, float]:
    """Return epsilon and delta of a claim."""
    return claim.nominal_epsilon, claim.nominal_delta if isinstance(claim, ApproximateDP) else 0.0


def _tokenizer(kwargs: Mapping[str, Any]) -> Any:
    """Return the tokenizer of a Trainer."""
    tokenizer = kwargs.get("processing_class") or kwargs.get("tokenizer")
    if tokenizer is None:
        raise ParameterError("the Trainer has no tokenizer: give Trainer(..., processing_class=tokenizer).")
    return tokenizer


def _tokens_of(text: str, tokenizer: Any, columns: set[str]) -> dict[str, list[int]]:
    """Return the row of a text in a dataset of tokens."""
    encoded = tokenizer(text)
    ids = list(map(int, encoded["input_ids"]))
    return {name: ids if name in ("input_ids", "labels") else list(map(int, encoded[name])) for name in columns}


def _check_lengths(
    texts: Sequence[str], tokenizer: Any, limit: int, limited: str = "the training truncates texts to"
) -> None:
    longest = max(texts, key=lambda text: len(tokenizer(text)["input_ids"]))
    if (length := len(tokenizer(longest)["input_ids"])) > limit:
        raise ParameterError(
            f"a canary has {length} tokens, but {limited} {limit}: {longest[:40]!r}... . Give shorter canaries."
        )


def _check_causal(model: Any) -> None:
    """Raise `ParameterError` unless the model has logits for each token that depend on no later token."""
    rows = torch.tensor([[0, 1, 2, 3], [0, 1, 2, 4]], device=_device(model))
    try:
        with _evaluating(model), torch.no_grad():
            logits = model(input_ids=rows, attention_mask=torch.ones_like(rows)).logits.float()
        one, other = logits[:, :-1]
        causal = logits.shape[:2] == rows.shape and not bool((one - other).abs().max() > 0.01 * one.std())
    except (ValueError, TypeError, LookupError, AttributeError):
        causal = False
    if not causal:
        raise ParameterError(
            "model must be a causal language model, which predicts each token from those before it, but is a "
            f"{type(model).__name__}. Load it with AutoModelForCausalLM.",
            argument="model",
        )


def _check_rows(dataset: Any, coins: Coins, tokenizer: Any) -> None:
    """Raise `ParameterError` unless each included canary is learned in one row, and no excluded one is in the rows.

    Compared are the tokens of a text that do not depend on what a template puts around it. Texts of one token are not
    checked; a warning tells of data that cannot be searched.
    """
    parts = [_tokens_in_any_row(text, tokenizer) for text in coins.ids]
    allowed, n_rows = Counter[Tokens](), Counter[Tokens]()
    starts, alone, together = dict[Tokens, set[Tokens]](), set[Tokens](), set[Tokens]()
    for part, is_in in zip(parts, coins.included.tolist(), strict=True):
        allowed[part] += is_in
        starts.setdefault(part[:2], set()).add(part)
    try:
        with _random_states():
            for ids, labels in _rows_of_tokens(dataset):
                inside, learned, n_places = _canaries_of_row(ids, labels, starts)
                n_rows.update(inside)
                (alone if n_places == 1 else together).update(learned)
    except Exception as error:
        warnings.warn(
            f"the training data could not be searched for the canaries: {error or type(error).__name__}. Check that "
            "each included canary is in them once, whole, as one sequence that is learned, and no excluded one at all.",
            stacklevel=3,
        )
        return
    for number, part in enumerate(parts):
        if n_rows[part] > allowed[part]:
            raise ParameterError(
                f"canary {number}, {coins.ids[number][:40]!r}, is in {n_rows[part]} rows of the training data, but by "
                f"the coins in {allowed[part]}: what is in r rows needs a claim for r texts, and an excluded canary is "
                "in none. Add the canaries once, to data without canaries (a cell of a notebook that runs twice adds "
                "them twice), and take canaries that are part of no other text, as short ones are.",
                argument="coins",
            )
    missing = [i for i, part in enumerate(parts) if coins.included[i] and part not in alone and len(part) > 1]
    if any(parts[i] in together for i in missing):
        raise ParameterError(PACKED)
    if missing:
        raise ParameterError(
            f"{len(missing)} of {len(coins.included_ids)} included canaries are not learned as a whole, such as "
            f"{coins.ids[missing[0]][:40]!r}: the training data have no row with all of its tokens, or no labels for "
            "it, or (DPO) it is in the prompt only, or also the rejected answer. Add the canaries to the data that are "
            "trained on, and truncate or mask none of them.",
            argument="coins",
        )


def _rows_of_tokens(dataset: Any) -> Iterator[tuple[Tokens, list[int]]]:
    """Yield the tokens of each row, and their labels: -100 for what is not learned."""
    if not hasattr(dataset, "__len__"):
        raise TypeError(f"type {type(dataset).__name__} is read only once")
    names = {"input_ids", "labels", "prompt_ids", "chosen_ids", "rejected_ids"}
    names &= set(getattr(dataset, "column_names", None) or ())
    if names and dataset.format["type"] != "custom":  # of set_transform
        batches = dataset.with_format(None).select_columns(sorted(names)).iter(1_000)
        rows = (dict(zip(batch, row, strict=True)) for batch in batches for row in zip(*batch.values(), strict=True))
    else:
        rows = (dataset[place] for place in range(len(dataset)))
    for row in rows:
        if not isinstance(row, Mapping) or not {"input_ids", "chosen_ids"} & set(row):
            raise TypeError("their rows have no input_ids")
        if "input_ids" in row:
            ids = _integers(row["input_ids"])
            yield tuple(ids), _integers(row["labels"]) if "labels" in row else ids
        else:
            prompt, chosen, rejected = (_integers(row[f"{name}_ids"]) for name in ("prompt", "chosen", "rejected"))
            labels = chosen if chosen != rejected else [-100] * len(chosen)
            yield (*prompt, *chosen, *rejected), [-100] * len(prompt) + labels + [-100] * len(rejected)


def _canaries_of_row(
    ids: Tokens, labels: list[int], starts: Mapping[Tokens, set[Tokens]]
) -> tuple[set[Tokens], set[Tokens], int]:
    """Return the canaries in a row, those that are learned, and the number of places of these.

    A canary within another one is not counted.
    """
    found = [
        (place, -len(part), part)
        for place, pair in enumerate(pairwise(ids))
        for part in starts.get(pair, ())
        if ids[place : place + len(part)] == part
    ]
    inside, learned, end, end_learned, n_places = set[Tokens](), set[Tokens](), 0, 0, 0
    for place, _, part in sorted(found):
        if (stop := place + len(part)) > end:
            inside.add(part)
            end = stop
            if set(labels[place:stop]) != {-100}:
                learned.add(part)
                n_places += place >= end_learned
                end_learned = stop
    return inside, learned, n_places


def _integers(values: Any) -> list[int]:
    """Return the numbers of a list, an array or a tensor."""
    numbers: list[int] = np.asarray(values).ravel().astype(int).tolist()
    return numbers


@contextmanager
def _random_states() -> Iterator[None]:
    """Keep the random states, which rows of the user may change."""
    of_python, of_arrays = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        with torch.random.fork_rng():
            yield
    finally:
        random.setstate(of_python)
        np.random.set_state(of_arrays)  # noqa: NPY002


def _warn_of_unseen_rows(args: Any, dataset: Any) -> None:
    """Warn if the steps of the training are too few to see each row once."""
    of_step = args.train_batch_size * args.gradient_accumulation_steps * args.world_size
    if args.max_steps > 0 and hasattr(dataset, "__len__") and (seen := args.max_steps * of_step) < len(dataset):
        warnings.warn(
            f"{args.max_steps:,} steps of {of_step:,} rows see {seen:,} of {len(dataset):,} rows at most: canaries in "
            f"the others show nothing. {-(-len(dataset) // of_step):,} steps see all.",
            stacklevel=3,
        )


def _tokens_in_any_row(text: str, tokenizer: Any) -> tuple[int, ...]:
    """Return the tokens of a text that stay the same after a space or a line, and before a full stop or a line."""
    around = [text, f" {text}", f"\n{text}", f"{text}.", f"{text}\n"]
    encoded = tokenizer(around, add_special_tokens=False)["input_ids"]
    alone, *others = (tuple(map(int, ids)) for ids in encoded)
    first = len(alone) - min(_n_same(alone[::-1], other[::-1]) for other in others[:2])
    last = min(_n_same(alone, other) for other in others[2:])
    return alone[first:last] if last - first > 1 else alone


def _n_same(one: Sequence[int], other: Sequence[int]) -> int:
    """Return the number of equal tokens at the beginning."""
    differ = (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(differ, min(len(one), len(other)))


def _check_new(coins: Coins, texts: set[str]) -> None:
    """Raise `ParameterError` if a canary is in the data, whatever its coin is."""
    both = [text for text in coins.ids if text in texts]
    if both:
        raise ParameterError(
            f"{len(both)} canaries are texts of the dataset, such as {both[0][:40]!r}: their coins decide nothing. "
            "Add the canaries once, to data without canaries.",
            argument="coins",
        )


def _device(model: Any) -> Any:
    return next(iter(model.parameters())).device


@contextmanager
def _evaluating(model: Any) -> Iterator[None]:
    """Switch dropout off, and back to the mode of each module afterwards."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode


__all__ = ["AuditCallback", "log_probabilities", "plain_tokens", "random_strings", "sampled_texts", "with_canaries"]
