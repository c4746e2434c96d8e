"""Plug-ins, as a package outside of dpassay: the one of the page, installed by its metadata in a fresh interpreter."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "plug-ins.md").read_text()
BLOCKS = re.findall(r"```(python|toml)\n(.*?)```", PAGE, re.S)
MODULE, TESTS = (text for kind, text in BLOCKS if kind == "python")
PROJECT, CONFIG = (text for kind, text in BLOCKS if kind == "toml")


def install(folder: Path, project: str, files: dict[str, str]) -> None:
    """Write a package as pip installs it: its files, and the metadata with its entry points."""
    table = tomllib.loads(project)["project"]
    info = folder / f"{table['name']}-{table['version']}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {table['name']}\nVersion: {table['version']}\n")
    groups = table["entry-points"].items()
    points = "\n".join(f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in rows.items()) for group, rows in groups)
    (info / "entry_points.txt").write_text(points)
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )


@pytest.fixture(scope="module")
def geo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("geo")
    files = {"geo.py": MODULE, "geo_configs/__init__.py": "", "geo_configs/parity.toml": CONFIG}
    install(folder, PROJECT, files | {"test_geo.py": f"from geo import *\n{TESTS}"})
    return folder


def test_package_of_the_page_has_at_most_60_lines():
    lines = [line for text in (MODULE, PROJECT, CONFIG) for line in text.splitlines() if line.strip()]
    assert len(lines) <= 60
    assert len(MODULE.splitlines()) <= 60


def test_package_of_the_page_passes_the_checks(geo):
    done = python(geo, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_geo.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


def test_its_names_are_listed_with_their_package(geo):
    done = python(geo, "-m", "dpassay", "list", "mechanisms")
    assert done.returncode == 0, done.stderr
    assert re.search(r"parity-count\s+The parity of a count", done.stdout)
    assert "[provisional, geo 1.0]" in " ".join(done.stdout.split())
    assert "parity" in python(geo, "-m", "dpassay", "list", "experiments").stdout


def test_its_experiment_runs_by_name_and_the_record_names_the_package(geo):
    done = python(geo, "-m", "dpassay", "run", "parity", "--out", "runs/parity")
    assert done.returncode == 0, done.stdout + done.stderr
    assert '"geo": "1.0"' in (geo / "runs/parity/environment.json").read_text()


def test_name_that_two_packages_take_is_refused_with_both(tmp_path):
    for package in ("one", "two"):
        points = f'[project.entry-points."dpassay.attacks"]\nmine = "{package}:A"\n'
        project = f'[project]\nname = "{package}"\nversion = "2.0"\n{points}'
        install(tmp_path, project, {f"{package}.py": ""})
    done = python(tmp_path, "-c", "from dpassay.attacks.catalogue import catalogue; catalogue.get('mine')")
    assert "attack 'mine' is registered twice: by one 2.0 (one:A) and two 2.0 (two:A)" in done.stderr
    ours = python(tmp_path, "-c", "from dpassay.attacks.catalogue import catalogue; print(catalogue.get('threshold'))")
    assert "Threshold" in ours.stdout


def test_package_that_cannot_be_imported_is_a_named_warning(tmp_path):
    project = '[project]\nname = "bad"\nversion = "0.1"\n[project.entry-points."dpassay.attacks"]\nmine = "bad:A"\n'
    install(tmp_path, project, {"bad.py": "raise RuntimeError('no driver')"})
    program = (
        "from dpassay.audit import audit\nfrom dpassay.mechanisms import Neighbours, PureDP\n"
        "def f(data, size, rng): return sum(data) + rng.laplace(size=size)\n"
        "print(audit(f, Neighbours([1], [1, 1], 'add_remove'), claim=PureDP(1.0), trials=2000, seed=0).verdict)"
    )
    done = python(tmp_path, "-c", program)
    assert done.stdout.strip() == "consistent", done.stderr
    assert (
        "PlugInWarning: attack 'mine' of bad 0.1 cannot be imported from bad:A: RuntimeError: no driver." in done.stderr
    )
    assert "mine" in python(tmp_path, "-m", "dpassay", "list", "attacks").stdout
