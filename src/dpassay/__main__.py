"""`python -m dpassay`, and the entry point of the `dpassay` command."""

from __future__ import annotations


def main() -> None:
    """Runs the command line; it exits with the codes of `dpassay --help`."""
    from .experiments.cli.commands import run_app

    run_app()


if __name__ == "__main__":
    main()
