"""The folder that an experiment is run in: who may use it, and how files get there.

    config.toml        the resolved configuration; makes the folder a run directory
    judged.toml        in its place where scores of other code were judged: which ones, and against what
    trials/POINT/      the trials of each audit
    results.json/.csv  the numbers, the same bytes for the same experiment
    figures/           drawn from the numbers
    report.html/.md    written from the numbers
    environment.json   versions, commit, machine, and when it ran
    times.json         how long each audit took

Every file is written under another name and then renamed: what has its name is whole. Links below the folder are not
followed, so that no write leaves it; see `dpassay.audit.trials.folder`.
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
from ...mechanisms.errors import ConfigError, FingerprintError, StoreError
from ..config.schema import Config
from ..config.source import Source

JUDGED = "judged.toml"
LEFT_BEHIND = 3600.0
"""Seconds after which a file that is still being written counts as left behind, where the system has no locks."""


@dataclass(frozen=True)
class RunDirectory:
    """A run directory.

    Args:
        path: made by `claim` if missing.
    """

    path: Path

    @property
    def folder(self) -> Folder:
        """What may be written, and how."""
        return Folder(self.path)

    def figures(self) -> Path:
        """The folder of the figures, made if missing."""
        with self.disk():
            return self.folder.make("figures")

    def trials(self, point: str) -> Path:
        """The folder of the trials of one audit, made if missing."""
        with self.disk():
            return self.folder.make(f"trials/{point}")

    def claim(self, config: Config) -> bool:
        """Makes this the run directory of `config`.

        Returns:
            True if the experiment was begun here before, and will be continued.

        Raises:
            FingerprintError: it holds another experiment; the message has each key that differs.
            StoreError: it is no run directory and not empty, or it cannot be read or written.
        """
        with self.disk():
            before = self._begin("config.toml")
            if before:
                self._refuse_another(config)
            self.write("config.toml", config.to_toml())
        return before

    def claim_judged(self, asked: str) -> None:
        """Makes this the directory of scores that are judged: `asked` says which ones, and against what.

        Raises:
            FingerprintError: it holds another judgement.
            StoreError: it is no such directory and not empty, or it cannot be read or written.
        """
        with self.disk():
            if self._begin(JUDGED) and self.read(JUDGED) != asked:
                raise FingerprintError(
                    f"{self.path} holds other scores, or the same ones judged otherwise: see {JUDGED} in it. Choose "
                    "another directory with --out, or remove this one to start over."
                )
            self.write(JUDGED, asked)

    def journals(self) -> dict[str, str]:
        """Path -> SHA-256 of each journal of trials that is there; a journal holds that of each of its chunks."""
        return self._digests("trials/*/journal.jsonl")

    def products(self) -> dict[str, str]:
        """Path -> SHA-256 of all that is derived from the trials: numbers, figures, reports."""
        return self._digests("results.*", "report.*", "figures/*")

    def _digests(self, *patterns: str) -> dict[str, str]:
        found = (path for pattern in patterns for path in sorted(self.path.glob(pattern)))
        paths = [path for path in found if path.is_file() and not path.is_symlink() and not is_temporary(path.name)]
        names = [path.relative_to(self.path).as_posix() for path in paths]
        with self.disk():
            return {name: sha256(self.folder.read(name)).hexdigest() for name in names}

    def config(self) -> tuple[Config, Source]:
        """The configuration that was run here; raises `StoreError` if there is none or it is damaged."""
        path = self.path / "config.toml"
        with self.disk():
            if not self.path.exists():
                raise StoreError(f"{self.path} does not exist. Give a folder that `dpassay run` made.")
            if not path.is_file():
                raise StoreError(
                    f"{self.path} is no run directory: it holds no config.toml. Give a folder that `dpassay run` made."
                )
        try:
            return Config.load(path)
        except ConfigError as error:
            raise StoreError(f"{path} is damaged, so that nobody knows what was run here ({error}).") from error

    def read(self, name: str) -> str:
        """The text of a file; raises `StoreError` when it is not there."""
        path = self.path / name
        with self.disk():
            try:
                return self.folder.read(name).decode("utf-8")
            except FileNotFoundError as error:
                unfinished = "the experiment was not finished. Continue it with `dpassay run`"
                raise StoreError(f"{path} is missing: {unfinished}.") from error
            except UnicodeDecodeError as error:
                raise StoreError(f"{path} is damaged: it is no text. Run the experiment again.") from error

    def write(self, name: str, text: str) -> None:
        """Writes a file, whole or not at all."""
        with self.disk():
            self.folder.write(name, text.encode())

    @contextmanager
    def disk(self) -> Iterator[None]:
        """Turns errors of the operating system into a `StoreError` that says what is safe and what to do."""
        try:
            yield
        except StoreError:
            raise
        except OSError as error:
            raise StoreError(
                f"cannot write to {error.filename or self.path}: {error.strerror or error}. What was finished in "
                f"{self.path} is safe. Free some space or fix the permissions and run the same command again, or "
                "choose another directory with --out."
            ) from error

    def _begin(self, name: str) -> bool:
        """Makes the folder; whether the file `name` makes it ours already. Any other has to be empty."""
        if self.path.exists() and not self.path.is_dir():
            raise StoreError(f"{self.path} is a file, and a run directory has to be a folder. Choose another --out.")
        self.folder.make()
        self.folder.remove_temporaries(seconds=LEFT_BEHIND)
        if (self.path / "figures").is_dir() and not (self.path / "figures").is_symlink():
            self.folder.remove_temporaries("figures", seconds=LEFT_BEHIND)
        before = (self.path / name).exists()
        if not before:
            self._refuse_foreign_files()
        return before

    def _refuse_another(self, config: Config) -> None:
        found, _ = self.config()
        if found.fingerprint == config.fingerprint:
            return
        lines = list(differences(found.question, json.loads(json.dumps(config.question))))
        shown = "\n  ".join(lines[:12] + ([f"... and {len(lines) - 12} more"] if len(lines) > 12 else []))
        raise FingerprintError(
            f"{self.path} holds another experiment. It differs in\n  {shown}\n"
            "Choose another directory with --out, or remove this one to start over."
        )

    def _refuse_foreign_files(self) -> None:
        others = sorted(p.name for p in self.path.iterdir() if not is_temporary(p.name))
        if others:
            raise StoreError(
                f"{self.path} is no run directory and not empty (found {', '.join(others[:5])}). Choose a new or "
                "an empty directory with --out."
            )
