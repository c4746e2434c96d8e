"""Entry point of `python -m dpassay` and of the `dpassay` command."""

from __future__ import annotations


def main() -> None:
    """Run the command line, which exits with the codes of `dpassay --help`."""
    from .experiments.cli.commands import run_app

    run_app()


if __name__ == "__main__":
    main()
