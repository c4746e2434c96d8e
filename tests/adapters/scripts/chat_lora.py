"""LoRA on conversations: the structure of `examples/sft/train.py` of PEFT."""

from dataclasses import dataclass

from datasets import load_dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer, HfArgumentParser, set_seed
from trl import SFTConfig, SFTTrainer

from dpassay import ApproximateDP, Coins  # audit
from dpassay.integrations.transformers import AuditCallback, random_strings, with_canaries  # audit

CHATML = "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"


@dataclass
class ModelArguments:
    model_name_or_path: str
    lora_alpha: int = 64
    lora_dropout: float = 0.0
    lora_r: int = 32
    lora_target_modules: str = "c_attn,c_fc,c_proj,wte"


@dataclass
class DataArguments:
    dataset_name: str
    splits: str = "train,test"


def create_and_prepare_model(args):
    tokenizer = AutoTokenizer.from_pretrained(
        args.model_name_or_path, extra_special_tokens=["<|im_start|>", "<|im_end|>"]
    )
    tokenizer.chat_template = CHATML
    model = AutoModelForCausalLM.from_pretrained(args.model_name_or_path)
    model.resize_token_embeddings(len(tokenizer), pad_to_multiple_of=8)
    modules = args.lora_target_modules.split(",")
    options = {"r": args.lora_r, "lora_alpha": args.lora_alpha, "lora_dropout": args.lora_dropout}
    return model, LoraConfig(**options, bias="none", task_type="CAUSAL_LM", target_modules=modules), tokenizer


def create_datasets(tokenizer, args):
    raw = {split: load_dataset(args.dataset_name, split=split) for split in args.splits.split(",")}
    coins = Coins.toss(random_strings(200, tokenizer, seed=1), seed=2, file="coins.json")  # audit
    row = lambda text: {"messages": [{"role": "assistant", "content": text}]}  # noqa: E731  # audit
    raw["train"] = with_canaries(raw["train"], coins, tokenizer, row=row)  # audit

    def preprocess(samples):
        return {"content": [tokenizer.apply_chat_template(turns, tokenize=False) for turns in samples["messages"]]}

    return [raw[split].map(preprocess, batched=True, remove_columns=raw[split].column_names) for split in raw]


def main(model_args, data_args, training_args):
    set_seed(training_args.seed)
    model, peft_config, tokenizer = create_and_prepare_model(model_args)
    train, test = create_datasets(tokenizer, data_args)
    trainer = SFTTrainer(
        model=model,
        args=training_args,
        train_dataset=train,
        eval_dataset=test,
        processing_class=tokenizer,
        peft_config=peft_config,
    )
    trainer.add_callback(AuditCallback(Coins.load("coins.json"), claim=ApproximateDP(0.2, 1e-5)))  # audit
    trainer.train(resume_from_checkpoint=training_args.resume_from_checkpoint)
    trainer.save_model()


if __name__ == "__main__":
    main(*HfArgumentParser((ModelArguments, DataArguments, SFTConfig)).parse_args_into_dataclasses())
