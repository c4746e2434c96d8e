"""Canary documents in a JSONL file: one JSON object in each line, one line per document.

field      value
document   text of the document; required
secret     words of the document that nothing else makes likely; required
question   what is asked for it: a text, or a list of texts, the turns of one conversation; required
unit       the unit of the claim, such as a person; default: "document N", with the number of the line
"""

from __future__ import annotations

import json
from pathlib import Path

from ...attacks.canaries.documents import CanaryDocument, CanaryDocuments
from ...audit.trials.array_files import read_text
from ...mechanisms.core import ParameterError, StoreError

EXPECTED = 'one JSON object, such as {"document": "The code of Ada is 4711.", "secret": "4711", "question": "..."}'


def load_canaries(file: Path | str) -> CanaryDocuments:
    """Read canary documents.

    Raises:
        ParameterError: no such file, a line of another form, or documents that `CanaryDocuments` refuses.
    """
    try:
        lines = read_text(Path(file)).split("\n")
    except OSError as error:
        raise ParameterError(f"{file} cannot be read: {error.strerror or error}.", argument="file") from error
    except ValueError as error:
        raise ParameterError(f"{file} cannot be read: {error}.", argument="file") from error
    try:
        return CanaryDocuments(tuple(_canary(i, line) for i, line in enumerate(lines, 1) if line.strip()))
    except ParameterError as error:
        raise ParameterError(f"{file}: {error}", argument="file") from error


def _canary(number: int, line: str) -> CanaryDocument:
    try:
        fields = json.loads(line)
        asked = fields["question"]
        turns = tuple(asked) if isinstance(asked, list) else (asked,)
        unit = str(fields.get("unit", f"document {number}"))
        return CanaryDocument(unit, fields["document"], fields["secret"], turns)
    except ParameterError as error:
        raise ParameterError(f"line {number}: {error}") from error
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ParameterError(f"line {number} must be {EXPECTED}, but {type(error).__name__}: {error}.") from error


def save_canaries(canaries: CanaryDocuments, file: Path) -> None:
    """Write canary documents to a new file.

    Raises:
        StoreError: the file exists, or cannot be written.
    """
    rows = (
        {"unit": one.unit, "document": one.document, "secret": one.secret, "question": list(one.questions)}
        for one in canaries.documents
    )
    write_new(file, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def write_new(file: Path, text: str) -> None:
    """Write a new text file; raises `StoreError` if it exists, or cannot be written."""
    try:
        with file.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise StoreError(f"cannot write {file}: {error.strerror or error}. Choose another file.") from error


__all__ = ["load_canaries", "save_canaries", "write_new"]
