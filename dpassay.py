"""The command line, and the check that the plain-word packages of this distribution are really its own.

`audit`, `attacks`, `mechanisms` and `experiments` are names that other folders have too. Whatever starts dpassay (the
console script, `python -m dpassay`, the pytest plugin) first asks `check_distribution()`, which imports none of them.
"""

# ruff: noqa: PTH118, PTH120
# (pathlib would double the time that this module costs a pytest session)

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

PACKAGES = ("mechanisms", "attacks", "audit", "experiments")
_HOME = os.path.dirname(os.path.realpath(__file__))


class ShadowedPackageError(ImportError):
    """One of the packages of dpassay is missing, or hidden by another folder or file of the same name."""


def check_distribution() -> None:
    """Raises `ShadowedPackageError` unless all packages would be imported from the folder of this file."""
    for name in PACKAGES:
        found, own = _location(name), os.path.join(_HOME, name)
        if found is None:
            raise ShadowedPackageError(
                f"dpassay's package '{name}' should lie at {own}, but cannot be found. "
                "The installation is incomplete: install dpassay again."
            )
        if found != own:
            raise ShadowedPackageError(_shadow_message(name, found, own))


def _location(name: str) -> str | None:
    """Where `import name` finds or would find it: the folder of a package, the file of a module; None if nowhere."""
    try:
        spec = find_spec(name)
    except ValueError:  # already imported, from something that has no spec
        return str(getattr(sys.modules[name], "__file__", None) or f"a module made at run time, {name!r}")
    if spec is None:
        return None
    folders = list(spec.submodule_search_locations or [])
    return os.path.realpath(folders[0] if folders else str(spec.origin))


def _shadow_message(name: str, found: str, own: str) -> str:
    """What is hidden, by what, and the ways out."""
    parent, base = os.path.split(found)
    return (
        f"the name '{name}' leads to {found}, which hides dpassay's own package {own},\n"
        f"because {parent} comes first on Python's path. Ways out:\n"
        f"  - run from another folder, or rename {base};\n"
        "  - keep the current folder off the path: run `python -P -m ...`, or set PYTHONSAFEPATH=1;\n"
        f"  - if {parent} is in PYTHONPATH, take it out, or run `python -I -m ...`."
    )


def main() -> None:
    """Entry point of the `dpassay` command."""
    try:
        check_distribution()
    except ShadowedPackageError as error:
        sys.stderr.write(f"dpassay: {error}\n")
        raise SystemExit(2) from None
    from experiments.cli.commands import run_app

    run_app()


def __getattr__(name: str) -> str:
    """`__version__`, looked up when it is asked for."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("dpassay")
    except PackageNotFoundError:  # a checkout that is not installed
        return "0+unknown"


if __name__ == "__main__":
    main()
