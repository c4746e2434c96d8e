"""Names of a package that are imported when they are first used, although type checkers see them as imports."""

import ast
import linecache
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any


def lazy_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` (PEP 562) of a package that lists its names under `if TYPE_CHECKING`.

        if TYPE_CHECKING:
            from .noise.laplace import Laplace as Laplace
        else:
            __getattr__, __dir__ = lazy_names(__name__)

    The list is read from the source of the package, the first time that a name is not found. A name that is also the
    name of a subpackage is the subpackage, whichever of the two is imported first.
    """

    @cache
    def modules() -> dict[str, str]:
        namespace = vars(sys.modules[package])
        source = "".join(linecache.getlines(namespace["__file__"], namespace))
        blocks = [node.body for node in ast.parse(source).body if isinstance(node, ast.If)]
        imports = [node for block in blocks for node in block if isinstance(node, ast.ImportFrom)]
        return {name.name: "." * node.level + (node.module or "") for node in imports for name in node.names}

    def get(name: str) -> Any:
        if name == "__all__":  # for `import *`
            return [name for name in names() if not name.startswith("_")]
        if name not in modules():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(modules()[name], package)
        return vars(sys.modules[package]).setdefault(name, getattr(module, name))

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules()})

    return get, names
