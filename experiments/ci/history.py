"""A history of builds: a file of JSON lines to which each build adds its evidence against the same claim.

    with History.opened("audits.jsonl") as builds:
        result = audit(release, pair, claim=claim, seed=builds.seed, history=builds)
        history = builds.add(result)

`experiments.ci.pools` states what the evidence of many builds refutes, and with which level.

**Lines.** Line k has the number k, the seed that follows from the root of the file and k, digests of the code and of
its pilot outputs, the tested claim with its own outcome, the e-values, the evidence of both pools, the verdict, and the
digest of the line before it. When a file is read, all of these are checked, and the evidence is computed again from the
e-values. A line that was changed, removed, added or moved is refused with its number. Two changes cannot be detected by
the file alone: lines that were removed at its end (for that, compare the last digest with a copy, such as a commit or
the log of a build), and a file that somebody wrote anew from its first line, with all digests.

**Verdict of a build.** Violation if its own audit refutes the claim, if a pool does, or if an earlier build with the
same code has this verdict: an alarm lasts until the code changes. Otherwise the verdict of its own audit.

**Writing.** The file is locked from reading to adding: another build waits. A line is written by one call and flushed.
A line without an end is what an interrupted build left: it is no build, and the next one replaces it.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ClassVar

from ...audit.bounds.pair.betting import STAKES
from ...audit.evidence.builds import BuildEvidence
from ...audit.evidence.verdict import Verdict
from ...audit.results.audit_result import AuditResult
from ...audit.results.saved import ADVICE, DIGEST_KEY, Described, Saved, require, within
from ...audit.trials.array_files import read_text
from ...audit.trials.folder import Folder, lock, unlock
from ...audit.trials.options import versions
from ...audit.trials.seeds import Stage, child_seed
from ...mechanisms.core import ParameterError, ResultError, StoreError, number
from .checked import AUDIT, CheckedClaim, CheckedClaims, claims_of
from .pools import PoolEvidence, Pools

if TYPE_CHECKING:
    from ..present.plots.history import EvidenceOverBuilds

LEVEL = 1e-6
"""Default level: the probability that the evidence of a history ever refutes a true claim."""
_SAME = {"claim_name": "claim", "claim": "epsilon", "delta": "delta", "relation": "relation"}
"""Fields of a tested claim that are the same in all lines, with their names in messages."""


@dataclass(frozen=True)
class Build(Saved):
    """One line of a history.

    Args:
        number: of the line and the build, from 1.
        time: when it was added, in UTC, such as "2026-05-04T09:30:00Z".
        dpassay: its version.
        root: from which, with the number, the seed follows; the same in all lines.
        seed: of the trials.
        level: of the whole history; the same in all lines.
        code, outputs, log_e_values, left_out: see `BuildEvidence`.
        own: the tested claim, with the outcome of the audit of this build alone.
        of_code, of_all: evidence of the builds with this code, and of all builds.
        verdict: of the build, with its history.
        previous: digest of the line before; "" in the first.
    """

    FORMAT: ClassVar[str] = "dpassay.history-line"
    VERSION: ClassVar[int] = 1

    number: int
    time: str
    dpassay: str
    root: int
    seed: int
    level: float
    code: str
    outputs: str
    log_e_values: tuple[float, ...]
    left_out: str
    own: CheckedClaim
    of_code: PoolEvidence
    of_all: PoolEvidence
    verdict: Verdict
    previous: str

    def check(self, at: str = "") -> None:
        """Raise `ResultError` for numbers out of range."""
        within(1, math.inf, at, number=self.number)
        require(0.0 < self.level < 1.0, at, f"the level is {self.level!r}")
        require(len(self.log_e_values) == len(STAKES), at, f"there are {len(self.log_e_values)} e-values")
        require(all(math.isfinite(value) for value in self.log_e_values), at, "an e-value is not finite")
        CheckedClaims(self.own.name, AUDIT, (self.own,)).check(at)

    @property
    def digest(self) -> str:
        """Digest of the line."""
        return str(self.to_dict()[DIGEST_KEY])

    @property
    def line(self) -> bytes:
        """The line, with its end."""
        return json.dumps(self.to_dict(), separators=(",", ":"), allow_nan=False).encode() + b"\n"


@dataclass(frozen=True)
class History(Described):
    """The builds of a file, read and checked.

    Args:
        name: name of the file, for messages.
        builds: in order.
        is_cut: whether the file ends in a line without an end, which is no build.
    """

    DESCRIBED_BY: ClassVar[str] = "experiments.ci.history_text"

    name: str
    builds: tuple[Build, ...]
    is_cut: bool = False

    @classmethod
    def read(cls, path: Path | str) -> History:
        """Return the history in a file.

        Raises:
            ResultError: it cannot be read, holds no build, or a line is damaged or does not follow from those before.
        """
        try:
            content = read_text(Path(path))
        except (OSError, ValueError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            raise ResultError(f"{path} cannot be read: {reason}.", argument="history") from error
        history = cls._of(Path(path).name, content)
        if not history.builds:
            raise ResultError(f"{path} has no build yet. Add one: dpassay check ... --history {path}.")
        return history

    @classmethod
    def _of(cls, name: str, content: str) -> History:
        """Return the history in a text; what follows the last end of a line is left out."""
        history = cls(name, ())
        for place, line in enumerate(content.split("\n")[:-1], start=1):
            try:
                history = history.followed_by(Build.from_json(line))
            except ResultError as error:
                advice = "Restore the file, such as from version control; or begin another history."
                reason = str(error).removesuffix(f" {ADVICE}")
                raise ResultError(f"{name}, line {place}: {reason} {advice}", argument="history") from error
        return replace(history, is_cut=content != "" and not content.endswith("\n"))

    @classmethod
    @contextmanager
    def opened(cls, path: Path | str, *, level: float = LEVEL, seed: int = 0) -> Iterator[OpenHistory]:
        """Open a file to add a build, and lock it until the end of the `with` block; another process waits.

        Args:
            path: the file, which is made if it is missing.
            level: probability that the evidence of this history ever refutes a true claim; the same for all its builds.
            seed: of the first line, from which with the name of the file all seeds follow; later lines ignore it.

        Raises:
            StoreError: the file cannot be opened or written.
            ResultError: as `read`; or the file has another level.
        """
        path = Path(path)
        try:
            file = Folder(path.parent).append(path.name)
        except OSError as error:
            reason = error.strerror or error
            raise StoreError(f"cannot write the history {path}: {reason}. Choose another file.") from error
        with file:
            lock(file.fileno(), wait=True)
            try:
                yield cls._open(path, file, level, seed)
            finally:
                unlock(file.fileno())

    @classmethod
    def _open(cls, path: Path, file: IO[bytes], level: float, seed: int) -> OpenHistory:
        """Return a locked file as a history, after checking it."""
        file.seek(0)
        try:
            history = cls._of(path.name, file.read().decode())
        except UnicodeDecodeError as error:
            raise ResultError(f"{path} is no text in UTF-8: it is no history, or damaged.") from error
        if history.builds and not math.isclose(history.builds[0].level, level, rel_tol=1e-6):
            raise ParameterError(
                f"the level of {path} is {history.builds[0].level:g} since its first line, and not {level:g}: give the "
                "same confidence for all builds, or begin another history.",
                argument="confidence",
            )
        root = hashlib.sha256(f"{seed}\0{path.name}".encode()).digest()
        return OpenHistory(file, history, level, int.from_bytes(root[:8], "big") >> 2)

    @property
    def last(self) -> Build:
        """The last build."""
        return self.builds[-1]

    @property
    def verdict(self) -> Verdict:
        """Verdict of the last build, with its history."""
        return self.last.verdict

    @property
    def refuted_since(self) -> int | None:
        """Number of the first build with the code of the last one that refuted the claim; None if none did."""
        same = [build for build in self.builds if build.code == self.last.code]
        return next((build.number for build in same if build.verdict is Verdict.VIOLATION), None)

    @property
    def checked(self) -> CheckedClaims:
        """The tested claim of the last build, with the verdict of the history, for comparisons."""
        claim = replace(self.last.own, verdict=self.verdict)
        return CheckedClaims(claim.name, AUDIT, (claim,))

    def next_seed(self, root: int) -> int:
        """Return the seed of the next build; `root` is that of a history without builds."""
        return child_seed(self.builds[0].root if self.builds else root, Stage.BUILD, len(self.builds) + 1)

    def evidence_with(
        self, code: str, log_e_values: Sequence[float], level: float
    ) -> tuple[PoolEvidence, PoolEvidence]:
        """Return the evidence of the code and of all builds, after another build."""
        pools = Pools(level)
        for build in self.builds:
            pools.add(build.code, build.log_e_values)
        return pools.add(code, log_e_values)

    def followed_by(self, build: Build) -> History:
        """Return the history with another line.

        Raises:
            ResultError: the line does not follow from the lines before it.
        """
        first = self.builds[0] if self.builds else build
        place = len(self.builds) + 1
        _must(build.number == place, f"this is build {build.number}, and build {place} must follow")
        expected = self.last.digest if self.builds else ""
        _must(build.previous == expected, "it does not follow the line before: a line was changed or removed")
        _must((build.root, build.level) == (first.root, first.level), "root or level are not those of line 1")
        _must(build.seed == self.next_seed(build.root), "the seed is not that of this line")
        for name, shown in _SAME.items():
            one, other = getattr(first.own, name), getattr(build.own, name)
            if one != other:
                raise ResultError(
                    f"the {shown} is {other!r}, and that of line 1 is {one!r}: a history is about one claim. Begin "
                    "another one for another claim."
                )
        of_code, of_all = self.evidence_with(build.code, build.log_e_values, build.level)
        for stated, computed in ((build.of_code, of_code), (build.of_all, of_all)):
            same = (stated.entry, stated.n_builds) == (computed.entry, computed.n_builds) and all(
                math.isclose(getattr(stated, name), getattr(computed, name), rel_tol=1e-9, abs_tol=1e-9)
                for name in ("log_evidence", "log_limit")
            )
            _must(same, "the evidence does not follow from the e-values")
        verdict = self._verdict(build.own.verdict, build.code, of_code, of_all)
        _must(build.verdict is verdict, f"the verdict is {build.verdict.value!r}, and {verdict.value!r} follows")
        return History(self.name, (*self.builds, build))

    def _verdict(self, own: Verdict, code: str, *pools: PoolEvidence) -> Verdict:
        refuted = any(build.code == code and build.verdict is Verdict.VIOLATION for build in self.builds)
        return Verdict.VIOLATION if refuted or any(pool.alarm for pool in pools) else own

    def next_build(self, result: AuditResult, evidence: BuildEvidence, *, root: int, level: float) -> Build:
        """Return the line for the audit of the next build."""
        if not evidence.left_out and any(build.outputs == evidence.outputs for build in self.builds):
            evidence = evidence.without(
                "its pilot outputs are those of an earlier build: its noise does not follow its seed"
            )
        first = self.builds[0] if self.builds else None
        level = level if first is None else first.level
        of_code, of_all = self.evidence_with(evidence.code, evidence.log_e_values, level)
        (own,) = claims_of(result).claims
        return Build(
            number=len(self.builds) + 1,
            time=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            dpassay=versions()["dpassay"],
            root=root if first is None else first.root,
            seed=result.seed,
            level=level,
            code=evidence.code,
            outputs=evidence.outputs,
            log_e_values=evidence.log_e_values,
            left_out=evidence.left_out,
            own=own,
            of_code=of_code,
            of_all=of_all,
            verdict=self._verdict(own.verdict, evidence.code, of_code, of_all),
            previous=self.last.digest if self.builds else "",
        )

    def plot(self) -> Any:
        """Return a matplotlib Figure of the evidence over builds."""
        from ..present.plots.draw import figure_of

        return figure_of(self.evidence_plot())

    def evidence_plot(self) -> EvidenceOverBuilds:
        """Return the numbers of this figure."""
        from ..present.plots.history import EvidenceOverBuilds, power_of_ten

        code, whole = ([getattr(build, name) for build in self.builds] for name in ("of_code", "of_all"))
        first, steps = self.builds[0].own, pairwise((self.builds[0], *self.builds))
        return EvidenceOverBuilds(
            of_code=power_of_ten([pool.log_evidence for pool in code]),
            of_all=power_of_ten([pool.log_evidence for pool in whole]),
            code_limit=power_of_ten([pool.log_limit for pool in code]),
            all_limit=power_of_ten([pool.log_limit for pool in whole]),
            new_code=tuple(build.code != before.code or build.of_code.n_builds == 1 for before, build in steps),
            new_entry=tuple(pool.n_builds == 1 for pool in whole),
            violations=tuple(build.number for build in self.builds if build.verdict is Verdict.VIOLATION),
            claim=f"{first.claim_name} at delta {number(first.delta)}",
        )


@dataclass(eq=False)
class OpenHistory:
    """A locked history, to which one build is added: the object that `audit(..., history=)` takes.

    Args:
        file: open for reading and appending, and locked.
        history: the builds before.
        level: of the history.
        root: of a history without builds.
    """

    file: IO[bytes]
    history: History
    level: float
    root: int
    kept: BuildEvidence | None = field(default=None, init=False)

    @property
    def seed(self) -> int:
        """Seed of the trials of this build."""
        return self.history.next_seed(self.root)

    def alarms(self, evidence: BuildEvidence) -> bool:
        """Return True if a pool with this evidence refutes the claim."""
        level = self.history.builds[0].level if self.history.builds else self.level
        pools = self.history.evidence_with(evidence.code, evidence.log_e_values, level)
        return any(pool.alarm for pool in pools)

    def keep(self, evidence: BuildEvidence) -> None:
        """Receive the evidence that counts."""
        self.kept = evidence

    def add(self, result: AuditResult) -> History:
        """Add the build whose audit has this result, and return the history with it.

        Raises:
            ParameterError: no audit with this history was made, or it had another seed, or another claim.
            StoreError: the file cannot be written, or another process wrote it meanwhile.
        """
        if self.kept is None or result.seed != self.seed:
            raise ParameterError(
                f"build {len(self.history.builds) + 1} of {self.history.name} needs an audit of its own: "
                f"audit(..., seed=builds.seed, history=builds), where the seed is {self.seed}, and not {result.seed}.",
                argument="history",
            )
        build = self.history.next_build(result, self.kept, root=self.root, level=self.level)
        try:
            after = self.history.followed_by(build)
        except ResultError as error:
            raise ParameterError(f"{self.history.name}: {error}", argument="history") from error
        self._append(build.line)
        self.history, self.kept = after, None
        return after

    def _append(self, line: bytes) -> None:
        """Write a line after the last complete one."""
        try:
            self.file.seek(0)
            content = self.file.read()
            if content.count(b"\n") != len(self.history.builds):
                raise StoreError(f"another process has added a build to {self.history.name}. Run this one again.")
            self.file.truncate(content.rfind(b"\n") + 1)
            os.write(self.file.fileno(), line)
            os.fsync(self.file.fileno())
        except OSError as error:
            reason = error.strerror or error
            raise StoreError(f"cannot write the history {self.history.name}: {reason}. Build it again.") from error


def _must(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ResultError(f"{otherwise}.")
