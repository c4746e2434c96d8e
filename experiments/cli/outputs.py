"""Files that a command writes next to its output: Markdown, JSON, JUnit XML, SARIF, the summary of a GitHub step."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...mechanisms.core import StoreError
from ..present.builds.findings import Findings
from ..present.builds.junit import junit
from ..present.builds.sarif import sarif
from ..present.builds.step_summary import append, step_summary_file
from .application import print_error


@dataclass(frozen=True)
class OutputFiles:
    """Requested files of a command; None for those that were not requested.

    Args:
        markdown: file to which a summary is appended.
        json_file: the complete result.
        junit_file, sarif_file: the findings for build servers.
        records: the real records that a table discloses, with their values.
    """

    markdown: Path | None = None
    json_file: Path | None = None
    junit_file: Path | None = None
    sarif_file: Path | None = None
    records: Path | None = None

    def check_writable(self, *others: Path | None) -> None:
        """Raise `StoreError` for a file that cannot be written, before anything has run."""
        for file in (*vars(self).values(), *others):
            if file is not None:
                _check_writable(file)

    def write(self, summary: str, *, json_text: str = "", found: Findings | None = None) -> None:
        """Write the requested files, and append the summary to that of the GitHub step, if there is one.

        Raises:
            StoreError: a requested file cannot be written. That of the step is no error, and is reported.
        """
        if self.markdown is not None:
            append(self.markdown, summary)
        if self.json_file is not None:
            write_text(self.json_file, json_text)
        if found is not None:
            for file, text in ((self.junit_file, junit), (self.sarif_file, sarif)):
                if file is not None:
                    write_text(file, text(found))
        step = step_summary_file()
        if step is None or (self.markdown is not None and self.markdown.resolve() == step.resolve()):
            return
        try:
            append(step, summary)
        except StoreError as error:
            print_error(str(error))


def _check_writable(file: Path) -> None:
    try:
        has_folder, is_folder = file.parent.is_dir(), file.is_dir()
    except OSError as error:  # such as a name that is too long
        raise StoreError(f"cannot write {file}: {error.strerror}. Choose another file.") from error
    if not has_folder:
        raise StoreError(f"cannot write {file}: there is no folder {file.parent}. Create it, or choose another file.")
    if is_folder:
        raise StoreError(f"cannot write {file}: it is a folder. Choose another file.")


def write_text(file: Path, text: str) -> None:
    """Write a text file; raises `StoreError` if it cannot be written."""
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"cannot write {error.filename}: {error.strerror or error}. Choose another file.") from error
