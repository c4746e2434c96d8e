"""Language modelling: the structure of `examples/pytorch/language-modeling/run_clm.py` of Transformers.

`--line_by_line` is that of `run_mlm.py` beside it: one text in a row, where the default joins texts into blocks.
"""

import math
from dataclasses import dataclass
from itertools import chain

from datasets import load_dataset
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    DataCollatorForLanguageModeling,
    HfArgumentParser,
    Trainer,
    TrainingArguments,
    set_seed,
)

from dpassay import ApproximateDP, Coins  # audit
from dpassay.integrations.transformers import AuditCallback, random_strings, with_canaries  # audit


@dataclass
class ModelArguments:
    model_name_or_path: str


@dataclass
class DataArguments:
    train_file: str
    validation_file: str
    block_size: int = 64
    line_by_line: bool = False


parser = HfArgumentParser((ModelArguments, DataArguments, TrainingArguments))
model_args, data_args, training_args = parser.parse_args_into_dataclasses()
set_seed(training_args.seed)
raw = load_dataset("json", data_files={"train": data_args.train_file, "validation": data_args.validation_file})
tokenizer = AutoTokenizer.from_pretrained(model_args.model_name_or_path)
model = AutoModelForCausalLM.from_pretrained(model_args.model_name_or_path)

canaries = random_strings(200, tokenizer, seed=1)  # audit
coins = Coins.toss(canaries, seed=2, file="coins.json")  # audit
raw["train"] = with_canaries(raw["train"], coins, tokenizer)  # audit


def tokenize(examples):
    return tokenizer(examples["text"], truncation=data_args.line_by_line, max_length=data_args.block_size)


def group_texts(examples):
    joined = {key: list(chain(*rows)) for key, rows in examples.items()}
    size = data_args.block_size
    stop = len(joined["input_ids"]) // size * size
    blocks = {key: [row[i : i + size] for i in range(0, stop, size)] for key, row in joined.items()}
    return blocks | {"labels": blocks["input_ids"].copy()}


lines = raw.map(tokenize, batched=True, remove_columns=["text"])
if not data_args.line_by_line:
    lines = lines.map(group_texts, batched=True)
trainer = Trainer(
    model=model,
    args=training_args,
    train_dataset=lines["train"] if training_args.do_train else None,
    eval_dataset=lines["validation"] if training_args.do_eval else None,
    processing_class=tokenizer,
    data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False),
    callbacks=[AuditCallback(coins, claim=ApproximateDP(0.2, 1e-5))],  # audit
)
if training_args.do_train:
    result = trainer.train(resume_from_checkpoint=training_args.resume_from_checkpoint)
    trainer.save_model()
    trainer.save_metrics("train", result.metrics)
    trainer.save_state()
if training_args.do_eval:
    metrics = trainer.evaluate()
    trainer.save_metrics("eval", metrics | {"perplexity": math.exp(metrics["eval_loss"])})
