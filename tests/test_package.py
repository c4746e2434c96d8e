"""One package, `dpassay`: a project with folders called like its rooms can use it."""

import inspect
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from textwrap import dedent

import pytest

import dpassay

SOURCES = Path(dpassay.__file__).parent.parent


def python(*arguments, cwd):
    """A new process that imports dpassay from this checkout; what lies in the working directory comes first."""
    environment = os.environ | {"PYTHONPATH": str(SOURCES), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run([sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True)


@pytest.fixture
def research(tmp_path):
    """A repository with a package `audit`, a module `attacks` and a folder `experiments`, as many have them."""
    files = {
        "audit/__init__.py": "NOTE = 'the audit of this project'",
        "attacks.py": "raise RuntimeError('attacks of this project')",
        "mechanisms/__init__.py": "from audit import NOTE",
        "experiments/first.py": "RATE = 0.1",
        "experiments/mine.toml": '[mechanism]\nname = "laplace"\nepsilon = 1.0\n\n[audit]\ntrials = 300\n',
        "release.py": """
            from audit import NOTE
            from experiments.first import RATE

            def count(dataset, size, rng):
                assert NOTE and RATE
                return len(dataset) + rng.laplace(scale=1.0, size=size)
        """,
        "api.py": """
            import audit
            from experiments import first
            from release import count
            import dpassay.experiments
            from dpassay.audit import audit as judged
            from dpassay.mechanisms import Neighbours, PureDP

            pair = Neighbours([1], [1, 2], "add_remove")
            result = judged(count, pair, claim=PureDP(1.0), attack="threshold", trials=300, seed=0)
        """,
        "test_mine.py": """
            import pytest
            import audit
            from experiments.first import RATE
            from release import count
            from typer.testing import CliRunner
            from dpassay.experiments.cli.commands import app

            def call(*words):
                done = CliRunner().invoke(app, [*words, "--quiet"])
                assert done.exit_code == 0, done.output

            @pytest.mark.dp(epsilon=1.0, d0=[1], d1=[1, 2], relation="add_remove", attack="threshold", trials=300)
            def test_count(dp_audit):
                assert audit.NOTE and RATE
                assert dp_audit(count).claim == 1.0

            def test_check():
                pair = ("--d0", "[1]", "--d1", "[1, 2]", "--relation", "add_remove", "--epsilon", "1")
                call("check", "release.py:count", *pair, "--attack", "threshold", "--trials", "300")

            def test_config(monkeypatch):
                monkeypatch.setattr("dpassay.experiments.present.plots.draw.shown", lambda points: [])
                monkeypatch.setattr("dpassay.experiments.present.plots.style._png", lambda figure: b"")
                call("run", "experiments/mine.toml", "--out", "out")

            def test_api():
                import api

                assert (api.audit.NOTE, api.first.RATE) == (audit.NOTE, RATE)
                assert api.result.verdict.value == "consistent"
        """,
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(dedent(text))
    return tmp_path


class TestAProjectWithFoldersOfTheSameNames:
    def test_a_project_with_equal_folder_names_can_use_the_whole_package(self, research):
        """In one process."""
        options = ("-p", "dpassay.pytest_plugin", "-p", "no:cacheprovider", "-p", "no:randomly", "-q")
        done = python("-m", "pytest", *options, cwd=research)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "4 passed" in done.stdout
        assert (research / "out" / "results.json").exists()


def test_the_package_costs_next_to_nothing_until_a_room_is_asked_for(tmp_path):
    code = "import sys, dpassay; sys.exit(any(m.startswith('dpassay.') or m == 'numpy' for m in sys.modules))"
    assert python("-c", code, cwd=tmp_path).returncode == 0


SLOW = "joblib pandas pydantic sklearn scipy.linalg scipy.optimize scipy.spatial scipy.stats dpassay.experiments "
SLOW += "dpassay.mechanisms.learning.dp_sgd.mechanism dpassay.mechanisms.literature"


def test_what_an_audit_imports_leaves_out_what_is_slow(tmp_path):
    code = "import sys, dpassay.audit; print(*sys.modules.keys() & set(sys.argv))"
    assert python("-c", code, *SLOW.split(), cwd=tmp_path).stdout == "\n"


def test_rooms_and_version_are_looked_up_when_asked_for():
    assert dpassay.mechanisms.Laplace(epsilon=1.0).epsilon == 1.0
    assert dpassay.__version__
    with pytest.raises(AttributeError, match="has no attribute 'versoin'"):
        _ = dpassay.versoin


def test_everything_besides_the_links_is_named_in_the_wheel():
    """What is installed is named file by file where it is no room: nothing that is new may be left out."""
    root = SOURCES.parent
    wheel = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    here = {f"src/dpassay/{path.name}" for path in (SOURCES / "dpassay").iterdir() if path.name != "__pycache__"}
    rooms = {f"src/dpassay/{name}" for name in wheel["only-include"] if "/" not in name}
    assert here - rooms == set(wheel["only-include"]) & here
    assert rooms < here


def test_common_names_are_importable_from_the_package():
    rooms = (dpassay.audit, dpassay.mechanisms)
    for name in set(dpassay.__all__) - {"attacks", "audit", "experiments", "mechanisms", "testing", "__version__"}:
        assert any(getattr(dpassay, name) is getattr(room, name, None) for room in rooms)


def test_the_package_audit_can_be_called_like_its_function():
    from dpassay import audit

    assert inspect.signature(audit) == inspect.signature(audit.audit)
    assert (
        audit(dpassay.Laplace(1.0), trials=200, seed=0).bound
        == audit.audit(dpassay.Laplace(1.0), trials=200, seed=0).bound
    )


OTHER_SYSTEM = """
import multiprocessing, os, pathlib, platform, signal, sys
import joblib, numpy, pandas, scipy.stats, sklearn.linear_model, typer

posix = ["O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC", "O_NONBLOCK", "fork", "forkpty", "killpg", "getpgid", "setsid"]
posix += ["geteuid", "getuid", "getrusage", "sched_getaffinity", "mkfifo", "sysconf", "uname"]
for module, names in ((os, posix), (signal, ["SIGKILL", "SIGALRM", "SIGHUP", "setitimer", "getitimer", "ITIMER_REAL"])):
    for name in names:
        if hasattr(module, name):
            delattr(module, name)
sys.modules.update(dict.fromkeys(["fcntl", "resource", "pwd", "grp", "termios"]))
os.supports_dir_fd.clear()
platform.system = lambda: "Windows"
"""


class TestASystemWithoutFork:
    """Windows lacks these names. They are deleted here; nothing of this has been run on Windows itself."""

    def test_imports_and_audits_in_memory_work_with_the_same_bytes(self, tmp_path):
        imports = "import dpassay.attacks, dpassay.experiments.cli.commands, dpassay.experiments.runs.runner"
        code = """
            from dpassay.audit import PairScores, audit, audit_scores
            from dpassay.mechanisms import Laplace, Neighbours, PureDP

            def count(dataset, rng):
                return len(dataset) + rng.laplace()

            pair = Neighbours([1], [1, 2], "add_remove")
            print(audit(Laplace(epsilon=1.0), trials=300, seed=0).to_json())
            print(audit(count, pair, claim=PureDP(1.0), trials=300, seed=0).to_json())
            print(audit_scores(PairScores(range(50), range(9, 59)), claim=PureDP(1.0), delta=0.0).to_json())
        """
        here, there = (python("-c", before + dedent(code), cwd=tmp_path) for before in ("", OTHER_SYSTEM + imports))
        assert there.returncode == 0, there.stderr
        assert here.stdout == there.stdout

    def test_commands_that_need_more_say_which_systems_are_supported(self, research):
        code = """
            from dpassay.experiments.cli.commands import run_app

            for words in ("check release.py:count --epsilon=1", "run laplace-count --set audit.trials=300"):
                try:
                    run_app(words.split())
                except SystemExit as end:
                    os.write(1, f"{end.code} ".encode())
        """
        done = python("-c", OTHER_SYSTEM + dedent(code), cwd=research)
        assert done.stdout.split() == ["2", "2"], done.stderr
        assert done.stderr.count("need Linux or macOS, but this is Windows") == 2
        assert "Traceback" not in done.stderr
