"""Writes docs/catalogue.md from the catalogues: `make docs`. A test keeps it current."""

from pathlib import Path

from attacks.catalogue import catalogue as attacks
from audit.bounds.catalogue import catalogue as bounds
from mechanisms.catalogue import catalogue as mechanisms

HERE = Path(__file__).parent


def catalogue_page() -> str:
    """Every name, with the first line of its docstring."""
    parts = ["# Names\n\nWritten by `make docs`. `dpassay list KIND` shows the same.\n"]
    for catalogue in (mechanisms, attacks, bounds):
        rows = "\n".join(f"| `{name}` | {catalogue.summary(name)} |" for name in catalogue)
        parts.append(f"## {catalogue.kind.capitalize()}s\n\n| name | what it is |\n|---|---|\n{rows}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    (HERE / "catalogue.md").write_text(catalogue_page())
