"""Fine-tuning with the real Trainer: canaries, the callback, faults that must be found, and DP-SGD that must not."""

from __future__ import annotations

import json
import math
import random
import re
import shutil
import warnings
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from dpassay import ApproximateDP, Coins
from dpassay.audit.evidence.verdict import Verdict
from dpassay.experiments.data.mails import mails
from dpassay.mechanisms.accounting import GaussianDP
from dpassay.mechanisms.core import ParameterError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
datasets = pytest.importorskip("datasets")

from dpassay.integrations.transformers import (  # noqa: E402 - it needs the libraries
    AuditCallback,
    _check_rows,
    log_probabilities,
    plain_tokens,
    random_strings,
    sampled_texts,
    with_canaries,
)

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::{kind}") for kind in ("FutureWarning", "DeprecationWarning", "UserWarning")
]  # of the libraries
CLAIM = ApproximateDP(2.0, 1e-5)
N_CANARIES, N_STEPS, CLIP = 200, 12, 1.0


@pytest.fixture(scope="module")
def tokenizer():
    """A tokenizer that was learned on the spot: bytes, merged to 500 words."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    learned = Tokenizer(models.BPE())
    learned.pre_tokenizer, learned.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    end = "<|end|>"
    trainer = trainers.BpeTrainer(vocab_size=500, special_tokens=[end], initial_alphabet=alphabet, show_progress=False)
    learned.train_from_iterator(mails(n=200, seed=1).tolist(), trainer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=learned, bos_token=end, eos_token=end, pad_token=end, model_max_length=64
    )


def small(tokenizer, seed=0):
    """GPT-2 with two layers, not trained."""
    transformers.set_seed(seed)
    size = {"n_positions": 64, "n_embd": 48, "n_layer": 2, "n_head": 2}
    dropout = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0)
    ends = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=len(tokenizer), **size, **dropout, **ends))


@pytest.fixture(scope="module")
def canaries(tokenizer):
    return random_strings(N_CANARIES, tokenizer, seed=3, n_tokens=6)


def prepared(canaries, tokenizer, seed=0, n_others=20):
    """Coins, and a data set of tokens with the included canaries."""
    coins = Coins.toss(canaries, seed=seed)
    others = [{"input_ids": tokenizer(text[:60])["input_ids"]} for text in mails(n=n_others, seed=2).tolist()]
    return coins, with_canaries(datasets.Dataset.from_list(others), coins, tokenizer)


class Noisy(transformers.Trainer):
    """Trainer whose gradients are clipped and noised: DP-SGD on whole data sets, or a fault.

    Args of `settings`: sigma, the noise in units of the clipping norm; clipped, "texts" or "batch"; private, which
    parameters the noise reaches.
    """

    settings: ClassVar = {"sigma": 1.0, "clipped": "texts", "private": lambda name: True}

    def training_step(self, model, inputs, num_items_in_batch=None):
        model.train()
        inputs = self._prepare_inputs(dict(inputs))
        named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
        n = len(inputs["input_ids"])
        parts = [[i] for i in range(n)] if self.settings["clipped"] == "texts" else [list(range(n))]
        total = [torch.zeros_like(p) for _, p in named]
        for part in parts:
            loss = model(**{key: value[part] for key, value in inputs.items()}).loss
            gradients = torch.autograd.grad(loss, [p for _, p in named])
            norm = math.sqrt(sum(float((g**2).sum()) for g in gradients))
            for sum_, g in zip(total, gradients, strict=True):
                sum_ += g * min(1.0, CLIP / norm)
        for (name, p), sum_ in zip(named, total, strict=True):
            noise = self.settings["sigma"] * CLIP * torch.randn_like(p) if self.settings["private"](name) else 0.0
            p.grad = (sum_ + noise) / len(parts if len(parts) > 1 else range(1))
        return loss.detach()


def trained(
    tokenizer, canaries, tmp_path, *, kind=transformers.Trainer, model=None, steps=N_STEPS, whole=True, **audit
):
    """Train with the included canaries; return the callback."""
    coins, dataset = prepared(canaries, tokenizer)
    callback = AuditCallback(coins, out=tmp_path / "audit", **({"claim": CLAIM} | audit))
    options = transformers.TrainingArguments(
        tmp_path / "trainer",
        max_steps=steps,
        per_device_train_batch_size=len(dataset) if whole else 16,
        learning_rate=1e-2,
        max_grad_norm=0.0,
        lr_scheduler_type="constant",
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
    )
    collator = transformers.DataCollatorForLanguageModeling(tokenizer, mlm=False)
    trainer = kind(
        model or small(tokenizer),
        options,
        train_dataset=dataset,
        data_collator=collator,
        processing_class=tokenizer,
        callbacks=[callback],
    )
    trainer.train()
    return callback


# --- faults and the right training -------------------------------------------------------------------------------


def test_training_without_noise_is_found(tokenizer, canaries, tmp_path):
    done = trained(tokenizer, canaries, tmp_path, steps=300, whole=False).result
    assert done.audit.verdict is Verdict.VIOLATION
    assert done.audit.bound.epsilon > 2.5
    assert {"end", "end.jsonl", "coins.json"} <= {path.name for path in (tmp_path / "audit").iterdir()}
    assert (tmp_path / "audit" / "end" / "audit" / "card.html").is_file()


def test_dp_sgd_is_consistent_and_could_have_been_refuted(tokenizer, canaries, tmp_path):
    """Whole batches: the composition of N_STEPS Gaussian mechanisms, whose exact curve gives the claim."""
    sigma = math.sqrt(N_STEPS) / mu_of(CLAIM)
    kind = type("Private", (Noisy,), {"settings": Noisy.settings | {"sigma": sigma}})
    done = trained(tokenizer, canaries, tmp_path, kind=kind).result
    assert done.audit.verdict is Verdict.CONSISTENT
    assert done.audit.detectable < 4.0


def mu_of(claim):
    """The largest mu of a Gaussian mechanism that keeps the claim, by bisection."""
    low, high = 0.0, 10.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (
            (middle, high) if GaussianDP(middle).delta(claim.nominal_epsilon) <= claim.nominal_delta else (low, middle)
        )
    return low


def test_a_clipped_mean_of_the_batch_is_found(tokenizer, canaries, tmp_path):
    """The noise of the sum of clipped gradients, divided by the batch, on a mean that is clipped as a whole."""
    settings = {"sigma": math.sqrt(N_STEPS) / mu_of(CLAIM) / (N_CANARIES / 2), "clipped": "batch"}
    kind = type("OfBatch", (Noisy,), {"settings": Noisy.settings | settings})
    done = trained(tokenizer, canaries, tmp_path, kind=kind, steps=250).result
    assert done.audit.verdict is Verdict.VIOLATION


def test_noise_that_does_not_reach_the_adapters_is_found(tokenizer, canaries, tmp_path):
    peft = pytest.importorskip("peft")
    parts = ["c_attn", "c_fc", "c_proj", "wte", "lm_head"]
    config = peft.LoraConfig(r=32, lora_alpha=64, target_modules=parts, task_type="CAUSAL_LM")
    settings = {"sigma": 50.0, "clipped": "batch", "private": lambda name: "lora" not in name}
    kind = type("BesideAdapters", (Noisy,), {"settings": Noisy.settings | settings})
    model = peft.get_peft_model(small(tokenizer), config)
    done = trained(tokenizer, canaries, tmp_path, kind=kind, model=model, steps=250).result
    assert done.audit.verdict is Verdict.VIOLATION


def test_an_engine_that_does_nothing_is_found_by_the_claim_of_its_accountant(tokenizer, canaries, tmp_path):
    class Accountant:
        def get_epsilon(self, delta):
            return 2.0

    options = {"claim": None, "accountant": Accountant(), "delta": 1e-5, "steps": 300, "whole": False}
    done = trained(tokenizer, canaries, tmp_path, **options).result
    assert (done.audit.claim, done.audit.delta) == (2.0, 1e-5)
    assert done.audit.verdict is Verdict.VIOLATION


# --- the callback ------------------------------------------------------------------------------------------------


def test_the_callback_changes_nothing(tokenizer, canaries, tmp_path):
    """The same weights with an audit and without it, also with dropout."""

    def weights(callbacks):
        _, dataset = prepared(canaries, tokenizer)
        model = small(tokenizer)
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.1
        options = transformers.TrainingArguments(
            tmp_path / "t", max_steps=4, report_to=[], disable_tqdm=True, use_cpu=True, save_strategy="no"
        )
        collator = transformers.DataCollatorForLanguageModeling(tokenizer, mlm=False)
        options_of = {"train_dataset": dataset, "data_collator": collator, "processing_class": tokenizer}
        transformers.Trainer(model, options, callbacks=callbacks, **options_of).train()
        return torch.cat([p.detach().flatten() for p in model.parameters()])

    coins, _ = prepared(canaries, tokenizer)
    assert torch.equal(weights([AuditCallback(coins, claim=CLAIM, out=tmp_path / "a")]), weights([]))


def test_audits_of_checkpoints_share_the_level(tokenizer, canaries, tmp_path):
    coins, dataset = prepared(canaries, tokenizer)
    callback = AuditCallback(coins, claim=CLAIM, out=tmp_path / "audit", looks=3)
    options = transformers.TrainingArguments(
        tmp_path / "t", max_steps=6, save_steps=1, save_only_model=True, report_to=[], disable_tqdm=True, use_cpu=True
    )
    collator = transformers.DataCollatorForLanguageModeling(tokenizer, mlm=False)
    options_of = {"train_dataset": dataset, "data_collator": collator, "processing_class": tokenizer}
    transformers.Trainer(small(tokenizer), options, callbacks=[callback], **options_of).train()
    assert sorted(path.stem for path in (tmp_path / "audit").glob("*.jsonl")) == ["end", "step-1", "step-2"]
    assert callback.result.audit.confidence == pytest.approx(1 - 0.05 / 3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "give either claim"),
        ({"claim": CLAIM, "accountant": object()}, "give either claim"),
        ({"claim": GaussianDP(1.0)}, "claim must be PureDP"),
        ({"accountant": object()}, "delta is missing"),
        ({"claim": CLAIM, "looks": 0}, "looks must be"),
        ({"claim": CLAIM, "coins": ["a", "b"]}, r"coins must be Coins, but is a list\. .*Coins\.toss"),
    ],
)
def test_what_an_audit_cannot_use_is_refused(options, words):
    with pytest.raises(ParameterError, match=words):
        AuditCallback(**{"coins": Coins.toss(["a", "b"])} | options)


def test_packed_training_is_refused(tokenizer, canaries, tmp_path):
    options = type("Options", (), {"packing": True})()
    callback = AuditCallback(Coins.toss(canaries), claim=CLAIM, out=tmp_path)
    with pytest.raises(ParameterError, match="packing puts several texts"):
        callback.on_train_begin(options, None, None, model=None, processing_class=tokenizer)
    options = type("Options", (), {"max_length": 3})()
    with pytest.raises(ParameterError, match="truncates texts to 3"):
        callback.on_train_begin(options, None, None, model=None, processing_class=tokenizer)


def test_a_training_does_not_fail_with_its_audit(tokenizer, canaries, tmp_path):
    """Weights that are NaN have no verdict; the log probabilities stay, and are not overwritten."""

    class Diverged(transformers.Trainer):
        def training_step(self, model, inputs, num_items_in_batch=None):
            for p in model.parameters():
                p.data.fill_(float("nan"))
            return torch.tensor(0.0)

    with pytest.warns(UserWarning, match="no verdict on this training"):
        callback = trained(tokenizer, canaries, tmp_path, kind=Diverged, steps=1)
    assert callback.result is None
    assert (tmp_path / "audit" / "end.jsonl").is_file()
    with pytest.raises(ParameterError, match="results of an earlier training"):
        trained(tokenizer, canaries, tmp_path, steps=1)


def briefly(callbacks, dataset, tokenizer, tmp_path, *, resume=None, **options):
    """Train for a few steps, on rows of tokens."""
    arguments = transformers.TrainingArguments(
        tmp_path / "t", max_steps=4, report_to=[], disable_tqdm=True, use_cpu=True, save_strategy="no"
    )
    for name, value in options.items():
        setattr(arguments, name, value)
    transformers.Trainer(
        small(tokenizer),
        arguments,
        train_dataset=dataset,
        data_collator=transformers.DataCollatorForLanguageModeling(tokenizer, mlm=False),
        processing_class=tokenizer,
        callbacks=callbacks,
    ).train(resume_from_checkpoint=resume)


def joined(rows):
    ids = rows["input_ids"]
    return {"input_ids": [[*one, *other] for one, other in zip(ids[::2], ids[1::2], strict=False)]}


@pytest.mark.parametrize(
    ("spoilt", "words"),
    [
        (lambda rows: rows.map(joined, batched=True, remove_columns=rows.column_names), "packing puts several texts"),
        (lambda rows: rows.map(lambda row: {"input_ids": row["input_ids"][:5]}), "are not learned as a whole"),
        (lambda rows: rows.map(lambda row: {"labels": [-100] * len(row["input_ids"])}), "are not learned as a whole"),
        (lambda rows: rows.select(range(len(rows) - 9)), "^9 of .* included canaries are not learned as a whole"),
        (lambda rows: datasets.concatenate_datasets([rows] * 5), "is in 5 rows of the training data, but by the coins"),
    ],
    ids=["joined", "cut", "masked", "left out", "five times"],
)
def test_rows_that_do_not_hold_each_canary_are_refused(tokenizer, canaries, tmp_path, spoilt, words):
    coins, dataset = prepared(canaries, tokenizer)
    callback = AuditCallback(coins, claim=CLAIM, out=tmp_path / "audit")
    with pytest.raises(ParameterError, match=words):
        briefly([callback], spoilt(dataset), tokenizer, tmp_path)


def test_canaries_are_found_in_rows_with_words_around_them(tokenizer, canaries, tmp_path):
    """In any order, after and before other words, and with padding."""
    coins, dataset = prepared(canaries, tokenizer)
    texts = tokenizer.batch_decode(dataset["input_ids"][:])
    rows = datasets.Dataset.from_dict({"text": [f"Question: {text}." for text in texts]}).shuffle(seed=0)
    rows = rows.map(lambda row: tokenizer(row["text"], padding="max_length", max_length=64), remove_columns=["text"])
    callback = AuditCallback(coins, claim=CLAIM, out=tmp_path / "audit")
    briefly([callback], rows, tokenizer, tmp_path)
    assert callback.result is not None


def test_a_resumed_training_has_the_reference_from_before_it(tokenizer, canaries, tmp_path):
    class Stopped(transformers.TrainerCallback):
        def on_step_end(self, args, state, control, **kwargs):
            if state.global_step == 3:
                raise KeyboardInterrupt

    coins, dataset = prepared(canaries, tokenizer)
    coins.save(tmp_path / "coins.json")
    saved = {"save_strategy": "steps", "save_steps": 2}
    options = {"claim": CLAIM, "out": tmp_path / "audit", "looks": 2}
    with pytest.raises(KeyboardInterrupt):
        briefly([AuditCallback(coins, **options), Stopped()], dataset, tokenizer, tmp_path, **saved)
    with pytest.raises(ParameterError, match=r"coins must be those of the first start .* Coins\.load"):
        briefly(
            [AuditCallback(Coins.toss(canaries, file=tmp_path / "others.json"), **options)],
            dataset,
            tokenizer,
            tmp_path,
            resume=True,
            **saved,
        )
    callback = AuditCallback(Coins.load(tmp_path / "coins.json"), **options)
    briefly([callback], dataset, tokenizer, tmp_path, resume=True, **saved)
    lines = [json.loads(line) for line in (tmp_path / "audit" / "end.jsonl").read_text().splitlines()]
    before = log_probabilities(small(tokenizer), tokenizer, coins.ids)
    for line, expected in zip(lines, before, strict=True):
        np.testing.assert_allclose(line["reference_log_probabilities"], expected, atol=1e-5)
    assert sorted(path.stem for path in (tmp_path / "audit").glob("*.jsonl")) == ["end", "step-2"]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "reference.json").write_text('{"cut')
    other = AuditCallback(Coins.load(tmp_path / "coins.json"), claim=CLAIM, out=tmp_path / "other")
    with pytest.warns(UserWarning, match=r"resumed at step \d+, but .*reference\.json has no scores of these canaries"):
        briefly([other], dataset, tokenizer, tmp_path, resume=True, **saved)
    assert other.result is not None


def test_a_finished_training_is_gone_on_with_in_another_folder(tokenizer, canaries, tmp_path):
    coins, dataset = prepared(canaries, tokenizer)
    saved = {"save_strategy": "steps", "save_steps": 4}
    first, second = (AuditCallback(coins, claim=CLAIM, out=tmp_path / name) for name in ("first", "second"))
    briefly([first], dataset, tokenizer, tmp_path, **saved)
    more = saved | {"max_steps": 6, "resume": True}
    with pytest.raises(ParameterError, match=r"To go on with a finished training .* copy .*reference\.json into the"):
        briefly([first], dataset, tokenizer, tmp_path, **more)
    (tmp_path / "second").mkdir()
    shutil.copy(tmp_path / "first" / "reference.json", tmp_path / "second")
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="the training is resumed")
        briefly([second], dataset, tokenizer, tmp_path, **more)
    before = [
        [json.loads(line)["reference_log_probabilities"] for line in (tmp_path / name / "end.jsonl").open()]
        for name in ("first", "second")
    ]
    assert before[0] == before[1]
    assert any("judged before" in warning for warning in second.result.audit.warnings)


def test_a_canary_of_one_token_is_not_called_missing(tokenizer):
    rows = datasets.Dataset.from_dict({"input_ids": [tokenizer("a")["input_ids"]]})
    _check_rows(rows, Coins(("a",), [True]), tokenizer)
    with pytest.raises(ParameterError, match="1 of 1 included canaries are not learned"):
        _check_rows(rows, Coins(("a longer text",), [True]), tokenizer)


def tokens(texts, tokenizer):
    return [{"input_ids": tokenizer(text)["input_ids"]} for text in texts]


@pytest.mark.parametrize("seed", [0, 1], ids=["the same coins", "another toss"])
def test_canaries_that_were_added_twice_are_refused(tokenizer, canaries, seed):
    dataset = prepared(canaries, tokenizer)[1]
    again = Coins.toss(canaries, seed=seed)
    with pytest.raises(ParameterError, match=r"^canary \d+, '.+', is in [12] rows .* by the coins in [01]: .* twice"):
        _check_rows(with_canaries(dataset, again, tokenizer), again, tokenizer)


def test_an_excluded_canary_in_the_data_is_refused_also_where_it_is_not_learned(tokenizer, canaries):
    coins, dataset = prepared(canaries, tokenizer)
    excluded = int(np.flatnonzero(~coins.included)[0])
    rows = [*dataset, {"input_ids": tokenizer(f"See: {canaries[excluded]}.")["input_ids"]}]
    rows[-1]["labels"] = [-100] * len(rows[-1]["input_ids"])
    with pytest.raises(ParameterError, match=f"^canary {excluded}, '.+', is in 1 rows .* by the coins in 0: "):
        _check_rows(rows, coins, tokenizer)


def test_canaries_that_are_part_of_others_are_told_from_them(tokenizer):
    """A longer canary is not its shorter part, and canaries that differ in their first word only are not one twice."""
    ids = ("the cat sat down", "see the cat sat down here", "Anna has a red car", "Bob has a red car")
    for included in ([False, True, True, False], [True, True, False, True], [True, False, True, True]):
        coins = Coins(ids, included)
        _check_rows(tokens(coins.included_ids, tokenizer), coins, tokenizer)
        with pytest.raises(ParameterError, match=r"is in . rows of the training data"):
            _check_rows(tokens(ids, tokenizer), coins, tokenizer)


def test_a_short_canary_in_other_texts_is_named(tokenizer):
    coins = Coins(("Leo Smith", "Leo Smith and Mia Leo Smith went home"), [True, True])
    rows = tokens([*coins.ids, "a mail of Leo Smith to all"], tokenizer)
    with pytest.raises(ParameterError, match=r"canary 0, 'Leo Smith', is in 2 rows .* part of no other text"):
        _check_rows(rows, coins, tokenizer)


class Rows(torch.utils.data.Dataset):
    """Rows of tensors, whose making changes the random states."""

    def __init__(self, rows):
        self.rows = [{name: torch.tensor(value) for name, value in row.items()} for row in rows]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, place):
        torch.rand(1), np.random.rand(1), random.random()  # noqa: NPY002
        return self.rows[place]


def transformed(rows):
    """Rows that are made as they are read, from a column of the same name."""
    texts = datasets.Dataset.from_dict({"input_ids": list(range(len(rows)))})
    texts.set_transform(lambda batch: {"input_ids": [rows[place]["input_ids"] for place in batch["input_ids"]]})
    return texts


@pytest.mark.parametrize(
    "kind",
    [list, Rows, transformed, lambda rows: torch.utils.data.random_split(Rows(rows), [len(rows), 0])[0]],
    ids=["list", "torch", "set_transform", "random_split"],
)
def test_rows_of_other_datasets_are_searched(tokenizer, canaries, kind):
    coins, dataset = prepared(canaries, tokenizer)
    rows = list(dataset)
    whole = kind(rows)
    states = torch.get_rng_state().tolist(), np.random.get_state()[1].tolist(), random.getstate()  # noqa: NPY002
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _check_rows(whole, coins, tokenizer)
    assert states == (torch.get_rng_state().tolist(), np.random.get_state()[1].tolist(), random.getstate())  # noqa: NPY002
    with pytest.raises(ParameterError, match="are not learned as a whole"):
        _check_rows(kind(rows[:-1]), coins, tokenizer)
    with pytest.raises(ParameterError, match="is in 2 rows"):
        _check_rows(kind([*rows, rows[-1]]), coins, tokenizer)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (lambda rows: rows.to_iterable_dataset(), "type IterableDataset is read only once"),
        (lambda rows: datasets.Dataset.from_dict({"text": ["a"]}), "their rows have no input_ids"),
        (lambda rows: torch.utils.data.TensorDataset(torch.tensor([[1, 2]])), "their rows have no input_ids"),
        (lambda rows: [{"input_ids": "words"}], "invalid literal"),
        (lambda rows: None, "type NoneType is read only once"),
    ],
    ids=["stream", "text", "tuples", "no numbers", "nothing"],
)
def test_data_that_cannot_be_searched_are_told_of(tokenizer, canaries, kind, words):
    coins, dataset = prepared(canaries, tokenizer)
    with pytest.warns(UserWarning, match=f"could not be searched for the canaries: {words}") as told:
        _check_rows(kind(dataset), coins, tokenizer)
    assert len(told) == 1


def test_canaries_of_dpo_are_learned_from_the_preferred_answer(tokenizer):
    """Refused: canaries in the prompt only, and with themselves as rejected answers."""
    coins = Coins.toss(random_strings(20, tokenizer, seed=1), seed=0)

    def rows(**parts):
        names = ("prompt", "chosen", "rejected")
        return [
            {f"{name}_ids": tokenizer(parts.get(name, text))["input_ids"] for name in names}
            for text in coins.included_ids
        ]

    _check_rows(rows(prompt="say", rejected="no"), coins, tokenizer)
    for refused in (rows(prompt="say"), rows(chosen="yes", rejected="no"), rows(prompt="say", chosen="yes")):
        with pytest.raises(ParameterError, match=r"are not learned as a whole.*\(DPO\)"):
            _check_rows(datasets.Dataset.from_list(refused), coins, tokenizer)


def test_steps_that_do_not_see_all_rows_are_told_of(tokenizer, canaries, tmp_path):
    coins, dataset = prepared(canaries, tokenizer)
    steps = -(-len(dataset) // 16)
    callback = AuditCallback(coins, claim=CLAIM, out=tmp_path / "audit")
    words = f"4 steps of 16 rows see 64 of {len(dataset)} rows at most: .* {steps} steps see all"
    with pytest.warns(UserWarning, match=words):
        briefly([callback], dataset, tokenizer, tmp_path, gradient_accumulation_steps=2)


def started(model, tokenizer, texts):
    """Start an audit of a training."""
    options = transformers.TrainingArguments("t", report_to=[], use_cpu=True)
    state = transformers.TrainerState()
    AuditCallback(Coins.toss(texts), claim=CLAIM).on_train_begin(
        options, state, None, model=model, processing_class=tokenizer
    )


def test_models_that_are_not_causal_are_refused(tokenizer, canaries):
    size = {"vocab_size": len(tokenizer), "hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 2}
    models = [
        transformers.GPT2ForSequenceClassification(small(tokenizer).config),
        transformers.BertForMaskedLM(transformers.BertConfig(**size, intermediate_size=64)),
    ]
    for model in models:
        with pytest.raises(ParameterError, match=f"model must be a causal .*, but is a {type(model).__name__}"):
            started(model, tokenizer, canaries)


def test_canaries_beyond_the_positions_of_the_model_are_refused(tokenizer):
    model = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(vocab_size=len(tokenizer), n_positions=8, n_embd=8, n_layer=1, n_head=1)
    )
    with pytest.raises(ParameterError, match="but the model has positions for 8: "):
        started(model, tokenizer, ["one", "two " * 12])


def test_an_accountant_that_counted_no_step_states_no_claim(tokenizer, canaries, tmp_path):
    class Accountant(list):
        def get_epsilon(self, delta):
            return 0.0

    options = {"claim": None, "accountant": Accountant(), "delta": 1e-5, "steps": 1}
    with pytest.warns(UserWarning, match="no verdict on this training: the accountant counted no step"):
        assert trained(tokenizer, canaries, tmp_path, **options).result is None


# --- log probabilities -------------------------------------------------------------------------------------------


def test_log_probabilities_are_those_of_single_texts_without_padding(tokenizer, canaries):
    model = small(tokenizer)
    model.train()
    scored = log_probabilities(model, tokenizer, canaries[:6], batch_size=4)
    assert model.training
    assert len({len(tokenizer(text)["input_ids"]) for text in canaries[:6]}) > 1  # so that there is padding
    for text, found in zip(canaries[:6], scored, strict=True):
        ids = tokenizer(text)["input_ids"]
        with torch.no_grad():
            expected = torch.log_softmax(model(torch.tensor([ids])).logits[0].double(), -1)
        by_hand = [float(expected[place, token]) for place, (_, token) in enumerate(pairwise(ids))]
        np.testing.assert_allclose(found, by_hand, atol=1e-5)
    with pytest.raises(ParameterError, match="two tokens or more"):
        log_probabilities(model, tokenizer, ["a"])


# --- canaries ----------------------------------------------------------------------------------------------------


def test_random_strings_differ_and_are_those_of_the_seed(tokenizer):
    texts = random_strings(300, tokenizer, seed=1)
    assert len(set(texts)) == 300
    assert texts == random_strings(300, tokenizer, seed=1) != random_strings(300, tokenizer, seed=2)
    assert all(word in plain_tokens(tokenizer) for text in texts[:5] for word in text.split())
    with pytest.raises(ParameterError, match="n must be at most"):
        random_strings(10_000, tokenizer, seed=1, n_tokens=1)


def test_sampled_texts_are_written_by_the_model(tokenizer):
    model = small(tokenizer)
    before = torch.random.get_rng_state()
    texts = sampled_texts(model, tokenizer, 20, seed=0, n_tokens=8)
    assert len(set(texts)) == 20
    assert torch.equal(before, torch.random.get_rng_state())
    with pytest.raises(ParameterError, match="temperature must be"):
        sampled_texts(model, tokenizer, 20, seed=0, temperature=0.5)


def test_sampled_texts_that_are_short_are_left_out(tokenizer, monkeypatch):
    model = small(tokenizer)
    write = model.generate

    def generate(prompts, **options):
        written = write(prompts, **options)
        written[::2, 3:] = tokenizer.eos_token_id
        return written

    monkeypatch.setattr(model, "generate", generate)
    texts = sampled_texts(model, tokenizer, 20, seed=0, n_tokens=8)
    assert min(len(tokenizer(text)["input_ids"]) for text in texts) >= 4


def test_canaries_are_added_to_lists_texts_and_tokens(tokenizer, canaries):
    coins = Coins.toss(canaries, seed=0)
    texts = ["one", "two"]
    assert with_canaries(texts, coins, tokenizer) == [*texts, *coins.included_ids]
    of_texts = with_canaries(datasets.Dataset.from_dict({"text": texts}), coins, tokenizer)
    assert of_texts["text"][:] == [*texts, *coins.included_ids]
    rows = datasets.Dataset.from_list([{key: tokenizer("one")[key] for key in ("input_ids", "attention_mask")}])
    of_tokens = with_canaries(rows, coins, tokenizer)
    assert tokenizer.decode(of_tokens[1]["input_ids"]) == coins.included_ids[0]
    pairs = datasets.Dataset.from_list([{"prompt": "a", "completion": "b"}])
    with pytest.raises(ParameterError, match="row must make the row"):
        with_canaries(pairs, coins, tokenizer)
    made = with_canaries(pairs, coins, tokenizer, row=lambda text: {"prompt": "", "completion": text})
    assert made["completion"][1] == coins.included_ids[0]
    more = datasets.Dataset.from_list([{"text": "a", "source": "web", "n_turns": 1}])
    made = with_canaries(more, coins, tokenizer, row=lambda text: {"text": text})
    assert made[1] == {"text": coins.included_ids[0], "source": None, "n_turns": None}


@pytest.mark.parametrize(
    "row",
    [
        {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}], "source": "web"},
        {"text": "a", "source": "web"},
        {"prompt": "a", "chosen": "b", "rejected": "c"},
        {"prompt": "a", "completion": "b"},
    ],
    ids=lambda row: next(iter(row)),
)
def test_the_row_that_a_refusal_proposes_holds_the_text(tokenizer, canaries, row):
    coins, dataset = Coins.toss(canaries, seed=0), datasets.Dataset.from_list([row])
    with pytest.raises(ParameterError, match="row must make the row of a text") as refused:
        with_canaries(dataset, coins, tokenizer)
    proposed = re.search(r"such as row=(lambda text: .*)\.$", str(refused.value))[1]
    made = with_canaries(dataset, coins, tokenizer, row=eval(proposed))[1]
    assert list(row) == list(made)
    assert coins.included_ids[0] in str(made)


def test_streams_and_several_splits_are_refused(tokenizer):
    rows = datasets.Dataset.from_dict({"text": ["one", "two"]})
    for dataset in (rows.to_iterable_dataset(), datasets.DatasetDict({"train": rows})):
        with pytest.raises(ParameterError, match=f"but is a {type(dataset).__name__}. Give one split"):
            with_canaries(dataset, Coins.toss(["three", "four"]), tokenizer)


def test_known_and_long_canaries_are_refused(tokenizer):
    with pytest.raises(ParameterError, match="are texts of the dataset"):
        with_canaries(["one", "two"], Coins.toss(["two", "three"]), tokenizer)
    with pytest.raises(ParameterError, match="truncates texts to 64"):
        with_canaries(["one"], Coins.toss(["two", "three " * 100]), tokenizer)


# --- TRL ---------------------------------------------------------------------------------------------------------


def test_sft_of_trl_needs_the_added_lines_only(tokenizer, canaries, tmp_path):
    trl = pytest.importorskip("trl")
    coins = Coins.toss(canaries, seed=0)
    dataset = with_canaries(datasets.Dataset.from_dict({"text": mails(n=10, seed=2).tolist()}), coins, tokenizer)
    callback = AuditCallback(coins, claim=CLAIM, out=tmp_path / "audit")
    options = trl.SFTConfig(
        str(tmp_path / "t"), max_steps=3, max_length=64, report_to=[], disable_tqdm=True, use_cpu=True, bf16=False,
        save_strategy="no",
    )  # fmt: skip
    trl.SFTTrainer(
        small(tokenizer), options, train_dataset=dataset, processing_class=tokenizer, callbacks=[callback]
    ).train()
    assert callback.result.audit.verdict is not Verdict.VIOLATION


def test_the_first_snippet_of_the_page_runs_as_it_is(tokenizer, tmp_path, monkeypatch):
    trl = pytest.importorskip("trl")
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs/how-to/fine-tuning.md").read_text()
    snippet, plain = (re.search(f"```py\n({first}.*?)```", page, re.DOTALL)[1] for first in ("from", "dataset"))
    options = {"max_steps": 2, "report_to": [], "disable_tqdm": True, "use_cpu": True, "save_strategy": "no"}
    texts = {"dataset": datasets.Dataset.from_dict({"text": mails(n=10, seed=2).tolist()}), "tokenizer": tokenizer}
    arguments = trl.SFTConfig("t", max_length=64, bf16=False, **options)
    names = texts | {"SFTTrainer": trl.SFTTrainer, "model": small(tokenizer), "args": arguments}
    exec(snippet.replace("1_000", "100"), names)
    assert names["audit"].result.audit.verdict is not Verdict.VIOLATION
    of_library = {name: getattr(transformers, name) for name in ("Trainer", "DataCollatorForLanguageModeling")}
    again = {"model": small(tokenizer), "args": transformers.TrainingArguments("t", **options)}
    names |= of_library | again | {"audit": AuditCallback(names["coins"], claim=CLAIM, out="other")}
    exec(plain, names)
    names["trainer"].train()
    assert names["audit"].result is not None


def test_dpo_of_trl_takes_canaries_as_preferred_answers(tokenizer, canaries, tmp_path):
    trl = pytest.importorskip("trl")
    coins = Coins.toss(canaries, seed=0)
    rows = [{"prompt": "say ", "chosen": text[:40], "rejected": text[40:60]} for text in mails(n=10, seed=2).tolist()]
    dataset = with_canaries(
        datasets.Dataset.from_list(rows), coins, tokenizer,
        row=lambda text: {"prompt": text.split(" ", 1)[0], "chosen": " " + text.split(" ", 1)[1], "rejected": " no"},
    )  # fmt: skip
    callback = AuditCallback(coins, claim=CLAIM, out=tmp_path / "audit")
    options = trl.DPOConfig(
        str(tmp_path / "t"), max_steps=3, max_length=64, report_to=[], disable_tqdm=True, use_cpu=True, bf16=False,
        save_strategy="no",
    )  # fmt: skip
    trl.DPOTrainer(
        small(tokenizer),
        small(tokenizer),
        args=options,
        train_dataset=dataset,
        processing_class=tokenizer,
        callbacks=[callback],
    ).train()
    assert callback.result.audit.verdict is not Verdict.VIOLATION
