"""Writes docs/catalogue.md from the catalogues: `make docs`. A test keeps it current."""

from pathlib import Path

from experiments.listing import entries, kinds

HERE = Path(__file__).parent


def catalogue_page() -> str:
    """Every name of every kind, with a line on each."""
    parts = ["# Names\n\nWritten by `make docs`. `dpassay list KIND` shows the same.\n"]
    for kind, line in kinds().items():
        rows = "\n".join(f"| `{name}` | {said.replace('|', chr(92) + '|')} |" for name, said in entries(kind).items())
        parts.append(
            f"## {kind.capitalize()}\n\n{line[0].upper()}{line[1:]}\n\n| name | what it is |\n|---|---|\n{rows}\n"
        )
    return "\n".join(parts)


if __name__ == "__main__":
    (HERE / "catalogue.md").write_text(catalogue_page())
