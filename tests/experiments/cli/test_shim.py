"""The top-level module: the packages are its own, and it costs next to nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import dpassay

ROOT = Path(__file__).parents[3]


def python(*arguments, cwd):
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True)


def test_the_packages_of_this_checkout_are_its_own():
    dpassay.check_distribution()


@pytest.mark.parametrize("package", dpassay.PACKAGES)
@pytest.mark.parametrize("kind", ["folder", "file"])
def test_a_folder_or_file_of_the_same_name_is_named_with_the_ways_out(package, kind, tmp_path):
    shadow = tmp_path / (package if kind == "folder" else f"{package}.py")
    if kind == "folder":
        shadow.mkdir()
        (shadow / "__init__.py").write_text("raise SystemExit('imported')")
    else:
        shadow.write_text("raise SystemExit('imported')")
    done = python("-m", "dpassay", "list", "bounds", cwd=tmp_path)
    assert done.returncode == 2
    message = done.stderr
    assert message.startswith(
        f"dpassay: the name '{package}' leads to {shadow}, which hides dpassay's own package {ROOT / package}"
    )
    for way_out in (
        "run from another folder",
        f"rename {shadow.name}",
        "python -P -m",
        "PYTHONSAFEPATH=1",
        "PYTHONPATH",
        "python -I",
    ):
        assert way_out in message
    assert "Traceback" not in message
    assert python("-P", "-m", "dpassay", "list", "bounds", cwd=tmp_path).returncode == 0


def test_a_folder_without_init_hides_nothing(tmp_path):
    (tmp_path / "audit").mkdir()
    assert python("-m", "dpassay", "list", "bounds", cwd=tmp_path).returncode == 0


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(dpassay, "PACKAGES", ("no_such_package",))
    with pytest.raises(dpassay.ShadowedPackageError, match=r"'no_such_package' should lie at .* install dpassay again"):
        dpassay.check_distribution()


def test_a_package_that_was_made_at_run_time_is_named(monkeypatch):
    made = type(sys)("made")
    made.__spec__ = None
    monkeypatch.setitem(sys.modules, "made", made)
    monkeypatch.setattr(dpassay, "PACKAGES", ("made",))
    with pytest.raises(dpassay.ShadowedPackageError, match="made at run time"):
        dpassay.check_distribution()


def test_the_check_imports_no_package(tmp_path):
    code = (
        "import sys, dpassay; dpassay.check_distribution(); sys.exit(any(p in sys.modules for p in dpassay.PACKAGES))"
    )
    assert python("-c", code, cwd=tmp_path).returncode == 0


def test_the_version_is_looked_up_when_asked_for():
    assert dpassay.__version__
    with pytest.raises(AttributeError, match="has no attribute 'versoin'"):
        _ = dpassay.versoin
