"""Fine-tuning on preferences: the structure of `trl/scripts/dpo.py` of TRL."""

from datasets import load_dataset
from transformers import AutoTokenizer  # audit
from trl import DPOConfig, DPOTrainer, ModelConfig, ScriptArguments, TrlParser, get_peft_config

from dpassay import ApproximateDP, Coins  # audit
from dpassay.integrations.transformers import AuditCallback, random_strings, with_canaries  # audit


def main(script_args, training_args, model_args):
    dataset = load_dataset(script_args.dataset_name, name=script_args.dataset_config)
    tokenizer = AutoTokenizer.from_pretrained(model_args.model_name_or_path)  # audit
    coins = Coins.toss(random_strings(200, tokenizer, seed=1), seed=2, file="coins.json")  # audit
    row = lambda text: {"prompt": "", "chosen": text, "rejected": " ".join(text.split()[::-1])}  # noqa: E731  # audit
    dataset["train"] = with_canaries(dataset["train"], coins, tokenizer, row=row)  # audit
    trainer = DPOTrainer(
        model=model_args.model_name_or_path,
        args=training_args,
        train_dataset=dataset[script_args.dataset_train_split],
        eval_dataset=dataset[script_args.dataset_test_split] if training_args.eval_strategy != "no" else None,
        peft_config=get_peft_config(model_args),
        callbacks=[AuditCallback(coins, claim=ApproximateDP(0.2, 1e-5))],  # audit
    )
    trainer.train(resume_from_checkpoint=training_args.resume_from_checkpoint)
    trainer.save_model(training_args.output_dir)


if __name__ == "__main__":
    main(*TrlParser((ScriptArguments, DPOConfig, ModelConfig)).parse_args_and_config())
