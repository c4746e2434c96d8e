"""The run directory of an experiment: its owner, and its files.

    config.toml        the resolved configuration; marks the folder as a run directory
    judged.toml        instead of config.toml for scores of other code, and sweeps in Python: source and claim
    slice.json         in the directory of one slice: which one, and the versions, code and files it ran with
    trials/POINT/      the trials of each audit
    results.json/.csv  the numbers, the same bytes for the same experiment
    figures/           drawn from the numbers
    results.tex        the numbers as a LaTeX table
    report.html/.md    written from the numbers
    card.json/.md/.html evidence card: claim, unit, trials, bound, power, assumptions, ledger, versions, hashes
    registry.yaml      fields of the OpenDP deployments registry
    environment.json   versions, commit, machine and time of the run
    statement.json     the card and the SHA-256 of every other file, for a signature
    times.json         duration of each audit

Every file is written under a temporary name and then renamed, so a file with its final name is complete. Links below
the folder are not followed, so no write leaves it; see `dpassay.audit.trials.folder`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from ...audit.trials.folder import Folder, is_temporary
from ...audit.trials.store import differences
from ...mechanisms.core import ConfigError, FingerprintError, StoreError
from ..config.schema import Config
from ..config.source import Source

JUDGED = "judged.toml"
SLICE = "slice.json"
STATEMENT = "statement.json"
LEFT_BEHIND = 3600.0
"""Seconds after which a temporary file counts as abandoned, on systems without locks."""


@dataclass(frozen=True)
class RunDirectory:
    """A run directory.

    Args:
        path: created by `claim` if missing.
    """

    path: Path

    @property
    def folder(self) -> Folder:
        """Folder through which all files are written."""
        return Folder(self.path)

    def figures(self) -> Path:
        """Return the folder of the figures, created if missing."""
        with self.disk():
            return self.folder.make("figures")

    def trials(self, point: str) -> Path:
        """Return the folder of the trials of one audit, created if missing."""
        with self.disk():
            return self.folder.make(f"trials/{point}")

    def claim(self, config: Config) -> bool:
        """Make this the run directory of `config`.

        The directory of another experiment is taken over if it has no trials and no numbers, as after an audit that
        was refused.

        Returns:
            True if the directory has an earlier, unfinished run of the experiment, which will be continued.

        Raises:
            FingerprintError: the directory has another experiment; the message lists each key that differs.
            StoreError: it is not a run directory and not empty, or it cannot be read or written.
        """
        with self.disk():
            before = self._begin("config.toml")
            if before and not self._is_same(config):
                self._start_over()
                before = False
            self.write("config.toml", config.to_toml())
        return before

    def refuse_slice(self) -> None:
        """Raise `StoreError` if this is the directory of a slice, which has no results."""
        with self.disk():
            there = (self.path / SLICE).exists()
        if there:
            raise StoreError(
                f"{self.path} has a slice of an experiment, not a run. Join all slices: dpassay merge DIR... --out "
                "ANOTHER. To run the whole experiment, choose another --out."
            )

    def claim_judged(self, request: str) -> None:
        """Make this the directory of external scores: `request` describes the scores and the claim.

        Raises:
            FingerprintError: the directory has another result.
            StoreError: it is not such a directory and not empty, or it cannot be read or written.
        """
        with self.disk():
            if self._begin(JUDGED) and self.read(JUDGED) != request and self._has_work():
                raise FingerprintError(
                    f"{self.path} has other scores, another sweep, or the same with other options: see {JUDGED} in it. "
                    "Choose another directory with --out, or remove this one to start over."
                )
            self.write(JUDGED, request)

    def journals(self) -> dict[str, str]:
        """Return path -> SHA-256 of each existing journal of trials; a journal has the SHA-256 of its chunks."""
        return self._digests("trials/*/journal.jsonl")

    def products(self) -> dict[str, str]:
        """Return path -> SHA-256 of all files derived from the trials: numbers, figures, reports, card."""
        return self._digests("results.*", "report.*", "card.*", "registry.yaml", "figures/*")

    def described_by(self) -> dict[str, str]:
        """Return path -> SHA-256 of the configuration, or the description of judged scores, and of the numbers."""
        return self._digests("config.toml", JUDGED, "results.json")

    def contents(self) -> dict[str, str]:
        """Return path -> SHA-256 of every file except the statement; a link has no digest, for it is no file."""
        paths = (path for path in sorted(self.path.rglob("*")) if path.is_symlink() or not path.is_dir())
        names = [path.relative_to(self.path).as_posix() for path in paths if not is_temporary(path.name)]
        with self.disk():
            return {name: self._digest(name) for name in names if name != STATEMENT}

    def _digest(self, name: str) -> str:
        if (self.path / name).is_symlink() or not (self.path / name).is_file():
            return ""
        return sha256(self.folder.read(name)).hexdigest()

    def _digests(self, *patterns: str) -> dict[str, str]:
        matches = (path for pattern in patterns for path in sorted(self.path.glob(pattern)))
        paths = [path for path in matches if path.is_file() and not path.is_symlink() and not is_temporary(path.name)]
        names = [path.relative_to(self.path).as_posix() for path in paths]
        with self.disk():
            return {name: self._digest(name) for name in names}

    def config(self) -> tuple[Config, Source]:
        """Return the configuration of the directory; raise `StoreError` if it is missing or damaged."""
        path = self.path / "config.toml"
        with self.disk():
            if not self.path.exists():
                raise StoreError(f"{self.path} does not exist. Pass a folder that `dpassay run` created.")
            if not path.is_file():
                raise StoreError(
                    f"{self.path} is not a run directory: it has no config.toml. Pass a folder that `dpassay run` "
                    "created."
                )
        try:
            return Config.load(path)
        except ConfigError as error:
            raise StoreError(f"{path} is damaged, so the experiment of this directory is unknown ({error}).") from error

    def read(self, name: str) -> str:
        """Return the text of a file; raise `StoreError` if it is missing."""
        path = self.path / name
        with self.disk():
            try:
                return self.folder.read(name).decode("utf-8")
            except FileNotFoundError as error:
                unfinished = "the experiment was not finished. Continue it with `dpassay run`"
                raise StoreError(f"{path} is missing: {unfinished}.") from error
            except UnicodeDecodeError as error:
                raise StoreError(f"{path} is damaged: it is not text. Run the experiment again.") from error

    def write(self, name: str, text: str) -> None:
        """Write a file atomically."""
        with self.disk():
            self.folder.write(name, text.encode())

    @contextmanager
    def disk(self) -> Iterator[None]:
        """Convert errors of the operating system to a `StoreError` that states what is safe and the next step."""
        try:
            yield
        except StoreError:
            raise
        except OSError as error:
            raise StoreError(
                f"cannot write to {error.filename or self.path}: {error.strerror or error}. Finished work in "
                f"{self.path} is safe. Free some space or fix the permissions and run the same command again, or "
                "choose another directory with --out."
            ) from error

    def _begin(self, name: str) -> bool:
        """Create the folder; return whether the file `name` exists in it. Any other folder must be empty."""
        if self.path.exists() and not self.path.is_dir():
            raise StoreError(f"{self.path} is a file, but a run directory must be a folder. Choose another --out.")
        self.folder.make()
        self.folder.remove_temporaries(seconds=LEFT_BEHIND)
        if (self.path / "figures").is_dir() and not (self.path / "figures").is_symlink():
            self.folder.remove_temporaries("figures", seconds=LEFT_BEHIND)
        before = (self.path / name).exists()
        if not before:
            self._refuse_foreign_files()
        return before

    def _has_work(self) -> bool:
        """Return whether there are finished trials or numbers."""
        return any(True for pattern in ("trials/*/chunks/*", "results.json") for _ in self.path.glob(pattern))

    def _start_over(self) -> None:
        """Remove the records of an experiment that left no trials and no numbers."""
        for name in ("environment.json", "times.json"):
            (self.path / name).unlink(missing_ok=True)

    def _is_same(self, config: Config) -> bool:
        """Return whether the directory has this experiment; raise `FingerprintError` for finished work of another."""
        existing, _ = self.config()
        if existing.fingerprint == config.fingerprint:
            return True
        if not self._has_work():
            return False
        lines = list(differences(existing.setup, json.loads(json.dumps(config.setup))))
        excerpt = "\n  ".join(lines[:12] + ([f"... and {len(lines) - 12} more"] if len(lines) > 12 else []))
        raise FingerprintError(
            f"{self.path} has another experiment. It differs in\n  {excerpt}\n"
            "Choose another directory with --out, or remove this one to start over."
        )

    def _refuse_foreign_files(self) -> None:
        others = sorted(p.name for p in self.path.iterdir() if not is_temporary(p.name))
        if others:
            raise StoreError(
                f"{self.path} is not a run directory and not empty (found {', '.join(others[:5])}). Choose a new or "
                "an empty directory with --out."
            )
