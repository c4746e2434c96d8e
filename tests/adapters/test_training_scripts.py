"""Scripts after the examples of the libraries run as they are, and with the lines of an audit added.

Lines that end in `# audit` are the added ones: without them, a script is as its user had it.
"""

import json
import runpy
import sys
from pathlib import Path

import pytest

from dpassay.experiments.data.mails import mails
from dpassay.mechanisms.core import ParameterError

pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
datasets = pytest.importorskip("datasets")
pytest.importorskip("trl")
pytest.importorskip("peft")

from tests.adapters.test_fine_tuning import small, tokenizer  # noqa: E402, F401 - it needs the libraries

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::{kind}")
    for kind in ("FutureWarning", "DeprecationWarning", "UserWarning", "ResourceWarning")
]  # of the libraries
SCRIPTS = Path(__file__).parent / "scripts"
ADDED = "# audit"
COMMON = (
    "--output_dir=trained --use_cpu --report_to=none --disable_tqdm=True --learning_rate=1e-2 --save_strategy=no "
    "--lr_scheduler_type=constant --per_device_train_batch_size=16"
)
ARGUMENTS = {
    "clm": "--model_name_or_path=model --train_file=texts/train.jsonl --validation_file=texts/test.jsonl "
    "--line_by_line --do_train --do_eval",
    "sft": "--model_name_or_path=model --dataset_name=answers --bf16=True --eval_strategy=steps --eval_steps=100 "
    "--per_device_train_batch_size=8 --gradient_accumulation_steps=2 --gradient_checkpointing=False",
    "dpo": "--model_name_or_path=model --dataset_name=preferences --bf16=False --no_remove_unused_columns "
    "--eval_strategy=steps --eval_steps=100 --gradient_checkpointing=False",
    "chat_lora": "--model_name_or_path=model --dataset_name=chats --dataset_text_field=content --bf16=False "
    "--gradient_checkpointing=False",
    "padded": "--model_name=model --dataset_name=texts --lora_dim=32 --save_strategy=steps --save_steps=50 "
    "--eval_strategy=steps --eval_steps=50 --load_best_model_at_end --save_total_limit=2",
}
STEPS = {"clm": 120, "sft": 80, "dpo": 80, "chat_lora": 80, "padded": 150}


@pytest.fixture(scope="module")
def place(tokenizer, tmp_path_factory):  # noqa: F811 - the fixture
    """A folder with a model, and with data of each kind in two splits."""
    folder = tmp_path_factory.mktemp("place")
    small(tokenizer).save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    kinds = {
        "texts": lambda text: {"text": text[:60]},
        "answers": lambda text: {"prompt": "Write a mail.", "completion": text[:40]},
        "preferences": lambda text: {"prompt": "Write a mail.", "chosen": text[:40], "rejected": text[40:60] + "."},
        "chats": lambda text: {
            "messages": [{"role": "user", "content": "Write."}, {"role": "assistant", "content": text[:40]}]
        },
    }
    for name, row in kinds.items():
        for split, seed in (("train", 2), ("test", 3)):
            file = folder / name / f"{split}.jsonl"
            file.parent.mkdir(exist_ok=True)
            file.write_text("".join(json.dumps(row(text)) + "\n" for text in mails(n=20, seed=seed).tolist()))
    return folder


@pytest.fixture
def run(place, tmp_path, monkeypatch):
    """Run a script in a folder of its own, as its user does, without the network."""
    for name in place.iterdir():
        (tmp_path / name.name).symlink_to(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")

    def run_script(name, arguments="", *, audited=True, steps=STEPS):
        text = (SCRIPTS / f"{name}.py").read_text()
        if not audited:
            text = "".join(line for line in text.splitlines(keepends=True) if not line.rstrip().endswith(ADDED))
            assert "dpassay" not in text
        (tmp_path / "script.py").write_text(text)
        words = f"{COMMON} {ARGUMENTS[name]} --max_steps={steps[name]} {arguments}".split()
        monkeypatch.setattr(sys, "argv", ["script.py", *words])
        runpy.run_path("script.py", run_name="__main__")
        return tmp_path

    return run_script


@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_script_runs_without_the_added_lines(run, name):
    folder = run(name, audited=False, steps=dict.fromkeys(STEPS, 2))
    assert not (folder / "audit").exists()
    assert not (folder / "coins.json").exists()


@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_script_with_the_added_lines_finds_that_its_training_memorises(run, name, capfd):
    folder = run(name)
    audit = folder / "audit" / "end" / "audit"
    assert json.loads((audit / "results.json").read_text())["verdict"] == "violation"
    assert (audit / "report.html").is_file()
    assert (audit / "card.html").is_file()
    assert "VIOLATION" in capfd.readouterr().out
    assert any((folder / "trained").glob("*.safetensors")) or name == "padded"  # which saves checkpoints only


def test_at_most_five_lines_are_added_beside_imports():
    for name in ARGUMENTS:
        added = [line for line in (SCRIPTS / f"{name}.py").read_text().splitlines() if line.endswith(ADDED)]
        assert 0 < len([line for line in added if " import " not in line]) <= 5, name


def test_a_script_that_joins_texts_into_blocks_is_refused(run):
    with pytest.raises(ParameterError, match="packing puts several texts into one sequence"):
        run("clm", "--line_by_line=False")
