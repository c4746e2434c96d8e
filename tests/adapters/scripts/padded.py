"""Fine-tuning on padded texts: the structure of `sample-level-dp/fine-tune-nodp.py`, an example of dp-transformers."""

from dataclasses import dataclass

from datasets import load_dataset
from peft import LoraConfig, get_peft_model
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
    model_name: str
    dataset_name: str
    sequence_len: int = 64
    lora_dim: int = 0
    lora_alpha: int = 64


def main(args, train_args):
    set_seed(train_args.seed)
    tokenizer = AutoTokenizer.from_pretrained(args.model_name)
    model = AutoModelForCausalLM.from_pretrained(args.model_name)
    dataset = load_dataset(args.dataset_name, split="train").train_test_split(0.2, seed=train_args.seed)
    coins = Coins.toss(random_strings(200, tokenizer, seed=1), seed=2, file="coins.json")  # audit
    dataset["train"] = with_canaries(dataset["train"], coins, tokenizer)  # audit
    with train_args.main_process_first(desc="tokenizing dataset"):
        dataset = dataset.map(
            lambda batch: tokenizer(batch["text"], padding="max_length", truncation=True, max_length=args.sequence_len),
            batched=True,
            remove_columns=dataset.column_names["train"],
        )
    if args.lora_dim > 0:
        modules = ["c_attn", "c_fc", "c_proj", "wte", "lm_head"]
        model = get_peft_model(model, LoraConfig(r=args.lora_dim, lora_alpha=args.lora_alpha, target_modules=modules))
    trainer = Trainer(
        args=train_args,
        model=model,
        train_dataset=dataset["train"],
        eval_dataset=dataset["test"],
        data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False),
        processing_class=tokenizer,  # audit
        callbacks=[AuditCallback(coins, claim=ApproximateDP(0.2, 1e-5), looks=2)],  # audit
    )
    trainer.train()


if __name__ == "__main__":
    main(*HfArgumentParser((ModelArguments, TrainingArguments)).parse_args_into_dataclasses())
