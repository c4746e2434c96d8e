"""Audits of differential privacy: attacks, and lower bounds on epsilon that hold with a stated confidence.

mechanisms/        mechanisms and the guarantees that they claim
attacks/           attacks: outputs -> scores
audit/             evidence -> bound -> verdict; `from dpassay import audit` can be called like `dpassay.audit.audit`
testing/           checks for mechanisms, attacks, bounds and canaries of other packages
experiments/       configurations, the command line, plots, reports, demos
integrations/      audits inside the tools of others: Hugging Face
__main__.py        the command `dpassay`
pytest_plugin.py   the hooks of the pytest plugin

Each subpackage, and each name in `_NAMES`, is imported when it is first used, so that `import dpassay` costs a pytest
session nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import attacks, experiments, mechanisms, testing
    from .audit import AuditResult, BitScores, Coins, PairScores, Successes, Verdict, assert_private, audit_scores
    from .audit.api import audit
    from .mechanisms import DPSGD, ApproximateDP, Gaussian, GaussianDP, Laplace, Neighbours, PureDP, RandomizedResponse

_NAMES = {
    "audit": (
        "AuditResult", "BitScores", "Coins", "PairScores", "Successes", "Verdict", "assert_private", "audit_scores",
    ),
    "mechanisms": (
        "DPSGD", "ApproximateDP", "Gaussian", "GaussianDP", "Laplace", "Neighbours", "PureDP", "RandomizedResponse",
    ),
}  # fmt: skip
"""Subpackage -> names that are importable from here."""
_ROOMS = ("attacks", "audit", "experiments", "mechanisms", "testing")

__all__ = [
    "DPSGD", "ApproximateDP", "AuditResult", "BitScores", "Coins", "Gaussian", "GaussianDP", "Laplace", "Neighbours",
    "PairScores", "PureDP", "RandomizedResponse", "Successes", "Verdict", "__version__", "assert_private", "attacks",
    "audit", "audit_scores", "experiments", "mechanisms", "testing",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a subpackage or one of the names, or look up the version, on first access."""
    if name == "__version__":
        return _version()
    if name in _ROOMS:
        return import_module(f".{name}", __name__)
    for room, names in _NAMES.items():
        if name in names:
            return getattr(import_module(f".{room}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("dpassay")
    except PackageNotFoundError:  # a checkout that is not installed
        return "0+unknown"
