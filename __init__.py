"""Audits of differential privacy: attacks, and lower bounds on epsilon that hold with a stated confidence.

mechanisms/        mechanisms and the guarantees that they claim
attacks/           attacks: outputs -> scores
audit/             evidence -> bound -> verdict; `from dpassay.audit import audit`
experiments/       configurations, the command line, plots, reports, demos
__main__.py        the command `dpassay`
pytest_plugin.py   the hooks of the pytest plugin

Each subpackage is imported when it is first used, so that `import dpassay` costs a pytest session nothing.
"""

from importlib import import_module
from typing import Any

__all__ = ["__version__", "attacks", "audit", "experiments", "mechanisms"]


def __getattr__(name: str) -> Any:
    """Import a subpackage, or look up the version, on first access."""
    if name == "__version__":
        return _version()
    if name in __all__:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("dpassay")
    except PackageNotFoundError:  # a checkout that is not installed
        return "0+unknown"
