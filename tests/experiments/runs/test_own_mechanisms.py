"""Own mechanisms: in a config only where the caller allows the module, and in sweeps; evidence of both."""

import json
import sys
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from dpassay.audit.evidence.verdict import Verdict
from dpassay.experiments import sweep
from dpassay.experiments.cli.commands import app
from dpassay.experiments.config.source import allowed_modules
from dpassay.experiments.runs.again import card
from dpassay.experiments.runs.runner import run
from dpassay.mechanisms import Laplace, Neighbours, PureDP
from dpassay.mechanisms.core import ConfigError, FingerprintError, ParameterError, StoreError

CODE = """
from pathlib import Path
from dpassay.mechanisms import Laplace
Path("imported").touch()

def release(dataset, size, rng, epsilon=1.0, factor=1.0):
    return sum(dataset) + rng.laplace(scale=factor / epsilon, size=size)

def make(epsilon=1.0):
    return Laplace(epsilon=epsilon)

def wrong():
    return 3

def score(outputs, power=1):
    return outputs ** power

noise = Laplace(epsilon=0.5)
number = 3
"""
CONFIG = """
unit = "a person"
[mechanism]
name = "{name}"
{options}
[neighbours]
{pair}
[audit]
trials = 1_000
{claim}
"""
PAIR = "d0 = [1, 0]\nd1 = [1, 0, 1]"
CLAIM = '[claim]\nname = "pure"\nepsilon = 1.0'


pytestmark = pytest.mark.usefixtures("few_chunks", "without_power")


@pytest.fixture
def own(tmp_path, monkeypatch, without_pictures):
    """A function that runs a config on the code of the user."""
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(CODE)

    def started(name="mine:release", options="", pair=PAIR, claim=CLAIM, allow=("mine.py",), out="out"):
        Path("mine.toml").write_text(CONFIG.format(name=name, options=options, pair=pair, claim=claim))
        return run("mine.toml", allow=allow, out=out)

    return started


# --- configs ----------------------------------------------------------------------------------------------------------


def test_a_config_alone_imports_nothing(own):
    with pytest.raises(ConfigError) as caught:
        own(allow=())
    assert not Path("imported").exists()
    assert not Path("out").exists()
    first, second = str(caught.value).splitlines()
    assert "a config alone runs none" in first
    assert second.strip().endswith("dpassay run CONFIG --allow mine.py")


def test_a_sweep_over_own_names_imports_nothing_either(own):
    Path("mine.toml").write_text(
        CONFIG.format(
            name="laplace",
            options="epsilon = 1.0",
            pair="",
            claim='[sweep]\n"mechanism.name" = ["laplace", "mine:make"]',
        )
    )
    with pytest.raises(ConfigError, match="a config alone runs none"):
        run("mine.toml", out="out")
    assert not Path("imported").exists()


def test_membership_takes_no_own_code(own):
    Path("mine.toml").write_text(
        '[data]\nname = "iris"\ntarget = "species"\n[mechanism]\nname = "mine:make"\n[membership]\nn_models = 4\n'
    )
    for allow in ((), ("mine.py",)):
        with pytest.raises(ConfigError, match="allow its file" if not allow else "models of the library only"):
            run("mine.toml", allow=allow, out="out")
    assert not Path("imported").exists()


def test_an_allowed_function_is_audited_with_its_options(own):
    done = own()
    assert done.verdict is Verdict.CONSISTENT
    assert own(options="factor = 0.2", out="broken").verdict is Verdict.VIOLATION


def test_an_allowed_function_is_an_attack_with_its_options(own):
    attack = '\n[attack]\nname = "mine:{}"\npower = 3'
    (point,) = own(claim=CLAIM + attack.format("score")).result.points
    assert "score" in point.result.attack
    assert "power=3" in point.result.attack
    with pytest.raises(ConfigError, match=r"mine.toml:[0-9]+: .*must be a function score"):
        own(claim=CLAIM + '\n[attack]\nname = "mine:number"', out="other")
    with pytest.raises(ConfigError, match="unknown option of mine:wrong: 'power'"):
        own(claim=CLAIM + attack.format("wrong"), out="other")
    with pytest.raises(ConfigError, match="a config alone runs none"):
        own(name="mine:release", claim=CLAIM + '\n[attack]\nname = "yours:score"', out="other")


def test_the_card_has_the_hash_of_allowed_code(own):
    origin = json.loads((own().directory / "card.json").read_text())["origin"]
    assert origin["hashes"]["mine.py"] == sha256(CODE.encode()).hexdigest()
    assert origin["unit"] == "a person"


def test_changed_code_does_not_continue_the_trials_of_other_code(own):
    own()
    Path("mine.py").write_text(CODE.replace("factor / epsilon", "0.5 * factor / epsilon"))
    with pytest.raises(FingerprintError):
        own()
    with pytest.raises(StoreError, match="last session did not finish"):
        card("out")


@pytest.mark.parametrize(("name", "epsilon"), [("mine:make", 1.0), ("mine:noise", 0.5)])
def test_a_name_may_stand_for_a_mechanism_or_for_what_makes_one(own, name, epsilon):
    (point,) = own(name, pair="", claim="").result.points
    assert point.result.claim == epsilon


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"claim": ""}, "has no claim"),
        ({"pair": ""}, "no worst-case pair"),
        ({"options": "scale = 3"}, "unknown option of mine:release: 'scale'"),
        ({"name": "mine:missing"}, "missing"),
        ({"name": "mine:number"}, "must be a function or a mechanism"),
        ({"name": "mine:wrong", "claim": "", "pair": ""}, "made int"),
        ({"name": "mine:noise", "options": "epsilon = 1.0", "claim": "", "pair": ""}, "a mechanism already"),
        ({"name": "other:release"}, "allow its file"),
        ({"name": "folder/mine.py:release"}, "'mine:release'"),
    ],
)
def test_wrong_own_code_is_an_error_of_the_config(own, changes, message):
    with pytest.raises(ConfigError, match=message):
        own(**changes)
    assert not Path("out").exists()


@pytest.mark.parametrize("allow", [["missing.py"], ["a:b"], [""]])
def test_an_allowed_module_is_a_file_or_a_module(allow):
    with pytest.raises(ParameterError):
        allowed_modules(allow)


def test_two_files_of_one_name_are_not_both_allowed(tmp_path):
    files = [tmp_path / folder / "mine.py" for folder in ("a", "b")]
    for file in files:
        file.parent.mkdir()
        file.touch()
    with pytest.raises(ParameterError):
        allowed_modules(files)


# --- sweeps -----------------------------------------------------------------------------------------------------------


def make(epsilon, factor):
    """Laplace noise of `factor` times the needed scale."""

    def release(dataset, size, rng):
        return sum(dataset) + rng.laplace(scale=factor / epsilon, size=size)

    return {
        "mechanism": release,
        "neighbours": Neighbours([1, 0], [1, 0, 1], "add_remove"),
        "claim": PureDP(epsilon),
    }


GRID = {"epsilon": [0.5, np.float64(1.0)], "factor": [1.0, 0.2]}


def test_a_sweep_refutes_the_broken_half_of_a_grid(tmp_path, without_pictures):
    done = sweep(make, GRID, out=tmp_path / "out", unit="a person", trials=1_000, seed=0)
    table = done.to_frame()
    assert table["mechanism.factor"].tolist() == [1.0, 0.2, 1.0, 0.2]
    assert table["verdict"].tolist() == ["consistent", "violation"] * 2
    assert (tmp_path / "out" / "results.tex").read_text() == done.to_latex()
    hashes = json.loads((tmp_path / "out" / "card.json").read_text())["origin"]["hashes"]
    assert hashes["test_own_mechanisms.py"] == sha256(Path(__file__).read_bytes()).hexdigest()
    made, _ = card(tmp_path / "out")
    assert (made.verdict, made.origin.unit) == ("violation", "a person")


def test_a_stopped_sweep_continues_with_the_same_bytes(tmp_path, without_pictures):
    options = {"trials": 300, "seed": 3}

    def stops(epsilon):
        if epsilon == 2.0 and not (tmp_path / "go").exists():
            raise KeyboardInterrupt
        return Laplace(epsilon=epsilon)

    with pytest.raises(KeyboardInterrupt):
        sweep(stops, {"epsilon": [1.0, 2.0]}, out=tmp_path / "stopped", **options)
    (tmp_path / "go").touch()
    for out in ("stopped", "whole"):
        sweep(stops, {"epsilon": [1.0, 2.0]}, out=tmp_path / out, **options)
    first, second = ((tmp_path / out / "results.json").read_bytes() for out in ("stopped", "whole"))
    assert first == second


def test_a_point_has_the_same_numbers_in_every_grid(tmp_path, without_pictures):
    alone = sweep(Laplace, {"epsilon": [2.0]}, out=tmp_path / "alone", trials=300)
    among = sweep(Laplace, {"epsilon": [1.0, 2.0]}, out=tmp_path / "among", trials=300)
    assert alone.result.points[0].result.bound == among.result.points[1].result.bound


def test_another_sweep_does_not_overwrite_a_directory(tmp_path, without_pictures):
    sweep(Laplace, {"epsilon": [1.0]}, out=tmp_path / "out", trials=300)
    with pytest.raises(FingerprintError):
        sweep(Laplace, {"epsilon": [2.0]}, out=tmp_path / "out", trials=300)


@pytest.mark.parametrize(
    ("over", "options", "message"),
    [
        ({}, {}, "over must map"),
        ({"epsilon": []}, {}, "at least one value"),
        ({"epsilon": [1.0, 1.0]}, {}, "none twice"),
        ({"epsilon": "12"}, {}, "must be a list"),
        ({"epsilon": [float("nan")]}, {}, "finite numbers"),
        ({"epsilon": [Laplace(epsilon=1.0)]}, {}, "Build other"),
        ({"two words": [1.0]}, {}, "cannot be a parameter"),
        ({"case": [1.0]}, {}, "cannot be a parameter"),
        ({"epsilon": [1.0]}, {"trails": 3}, "trails, given by sweep, is no argument of audit"),
        ({"epsilon": [1.0]}, {"confidence": 1.0}, "confidence"),
        ({"epsilon": [1.0]}, {"seed": -1}, "seed"),
    ],
)
def test_a_wrong_sweep_is_refused_before_it_writes(tmp_path, over, options, message):
    with pytest.raises(ParameterError, match=message):
        sweep(Laplace, over, out=tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("made", "message"), [(3, "must return a Mechanism"), ({"mechanism": 3, "seed": 1}, "set once for the whole sweep")]
)
def test_what_make_returns_is_checked(tmp_path, made, message):
    with pytest.raises(ParameterError, match=message) as caught:
        sweep(lambda epsilon: made, {"epsilon": [1.0]}, out=tmp_path / "out")
    assert caught.value.__notes__ == ["at mechanism.epsilon = 1.0"]


# --- files and commands -----------------------------------------------------------------------------------------------


def test_figures_are_also_drawn_as_pdf_and_a_later_run_keeps_them(tmp_path, without_pixels, one_picture):
    config = tmp_path / "mine.toml"
    config.write_text('[mechanism]\nname = "laplace"\nepsilon = 1.0\n[audit]\ntrials = 300\n')
    options = {"out": tmp_path / "out"}
    assert not [file for file in run(config, **options).files if file.suffix == ".pdf"]
    (drawn,) = [file for file in run(config, pdf=True, **options).files if file.suffix == ".pdf"]
    before = drawn.read_bytes()
    assert before.startswith(b"%PDF")
    assert b"/CreationDate" not in before
    assert drawn in run(config, **options).files
    drawn.unlink()
    assert run(config, pdf=True, **options).files
    assert drawn.read_bytes() == before


def test_the_card_is_printed_and_its_exit_code_is_that_of_the_verdict(own, capsys):
    own(options="factor = 0.2")
    with pytest.raises(SystemExit) as ended:
        app(["card", "out"], prog_name="dpassay")
    assert ended.value.code == 1
    assert capsys.readouterr().out == Path("out/card.md").read_text()


def test_the_card_of_judged_scores_names_their_command(tmp_path, without_pictures):
    scores = tmp_path / "scores.csv"
    scores.write_text("score,side\n" + "".join(f"{i / 100},{i % 2}\n" for i in range(200)))
    with pytest.raises(SystemExit):
        app(["judge", str(scores), "--epsilon", "1", "--out", str(tmp_path / "out")], prog_name="dpassay")
    made, _ = card(tmp_path / "out")
    assert made.origin.command.startswith("dpassay judge scores.csv")
    assert "judged.toml" in made.origin.hashes


def test_a_directory_without_a_run_has_no_card(tmp_path):
    with pytest.raises(StoreError):
        card(tmp_path)


def test_importing_experiments_does_not_import_sweeps():
    import subprocess

    code = "import sys, dpassay.experiments; print('dpassay.experiments.runs' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(Path(__file__).parents[3] / "src")},
    )
    assert done.stdout.strip() == "False"
