"""Names that are imported when they are first used."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import dpassay
from dpassay.mechanisms.core.lazy_names import lazy_names

ROOT = Path(dpassay.__file__).parent
FOLDERS = [
    path.parent
    for room in ("mechanisms", "attacks", "audit", "experiments")
    for path in sorted((ROOT / room).rglob("__init__.py"))
    if "lazy_names(__name__)" in path.read_text()
]
LAZY = [".".join(("dpassay", *folder.relative_to(ROOT).parts)) for folder in FOLDERS]


def python(code):
    environment = os.environ | {"PYTHONPATH": str(ROOT.parent)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split()


def listed(package):
    """Names under `if TYPE_CHECKING`, which type checkers see."""
    tree = ast.parse(Path(sys.modules[package].__file__).read_text())
    blocks = [node.body for node in tree.body if isinstance(node, ast.If)]
    return [alias.name for block in blocks for node in block for alias in node.names]


@pytest.mark.parametrize("package", LAZY)
def test_every_listed_name_is_found_and_shown(package):
    module = __import__(package, fromlist=["_"])
    names = listed(package)
    assert names
    assert all(hasattr(module, name) for name in names)
    assert set(names) <= set(dir(module))
    assert set(names) <= set(module.__all__)


def test_an_unlisted_name_is_an_attribute_error():
    get, _ = lazy_names("dpassay.mechanisms")
    with pytest.raises(AttributeError, match=r"'dpassay\.mechanisms' has no attribute 'Laplac'"):
        get("Laplac")


def test_a_name_imports_its_module_only():
    code = "import sys; from dpassay.mechanisms import {}; print(*sys.modules)"
    loaded = python(code.format("PureDP"))
    assert "dpassay.mechanisms.accounting.kinds.approximate" in loaded
    assert "dpassay.mechanisms.noise.laplace" not in loaded
    assert "dpassay.mechanisms.noise.laplace" in python(code.format("Laplace"))


@pytest.mark.parametrize("first", ["import dpassay.audit.search.domains", "import dpassay.audit"])
def test_a_function_with_the_name_of_its_folder_is_the_function(first):
    assert python(f"{first}; from dpassay.audit import search; print(type(search).__name__)") == ["function"]


@pytest.mark.parametrize("first", ["import dpassay.audit.api", "import dpassay"])
def test_audit_is_the_subpackage_in_any_order(first):
    assert python(f"{first}; import dpassay; print(type(dpassay.audit).__name__)") == ["CallableModule"]
    assert python(f"{first}; from dpassay import audit; print(type(audit).__name__)") == ["CallableModule"]


def test_star_import_brings_all_names():
    assert python("from dpassay.audit import *; print(search.__name__, Coins.__name__)") == ["search", "Coins"]
