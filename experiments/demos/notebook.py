"""Executed demo documents as notebooks, in the format nbformat 4.5."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .document import Cell
from .execution import Output, Printed, ShownFigure, ShownTable
from .page import html_table

Json = dict[str, Any]


def notebook(played: Sequence[tuple[Cell, Sequence[Output]]]) -> str:
    """Return the JSON text of a notebook with the outputs of all cells.

    Code with the tag "hide-input" is collapsed in Jupyter, and so is the answer to the exercise.
    """
    cells, count = [], 0
    for cell, outputs in played:
        count += cell.is_code
        cells.append(_code(cell, outputs, count) if cell.is_code else _markdown(cell))
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def _markdown(cell: Cell) -> Json:
    answer = f"<details><summary>Answer</summary>\n\n{cell.source}\n\n</details>"
    source = _lines(answer if cell.is_answer else cell.source)
    return {"cell_type": "markdown", "id": f"cell-{cell.number}", "metadata": _tags(cell), "source": source}


def _code(cell: Cell, outputs: Sequence[Output], count: int) -> Json:
    metadata = _tags(cell)
    if cell.is_hidden or cell.is_answer:
        metadata["jupyter"] = {"source_hidden": True} | ({"outputs_hidden": True} if cell.is_answer else {})
    alts = [output.alt for output in outputs if isinstance(output, ShownFigure)]
    if alts:
        metadata["mystnb"] = {"image": {"alt": alts[0]}}
    return {
        "cell_type": "code",
        "execution_count": count,
        "id": f"cell-{cell.number}",
        "metadata": metadata,
        "outputs": [_output(output, count) for output in outputs],
        "source": _lines(cell.source),
    }


def _tags(cell: Cell) -> Json:
    tags = sorted(cell.tags | ({"hide-cell"} if cell.is_answer and cell.is_code else set()))
    return {"tags": tags} if tags else {}


def _output(output: Output, count: int) -> Json:
    if isinstance(output, Printed):
        return {"name": "stdout", "output_type": "stream", "text": _lines(output.text)}
    if isinstance(output, ShownTable):
        data: Json = {"text/html": _lines(html_table(output)), "text/plain": _lines(output.frame.to_string())}
        return {"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"}
    image = base64.b64encode(_png(output).read_bytes()).decode()
    data = {"image/png": image, "text/plain": _lines(f"Figure: {output.alt}")}
    metadata = {"image/png": {"alt": output.alt}}
    return {"data": data, "execution_count": count, "metadata": metadata, "output_type": "execute_result"}


def _png(drawing: ShownFigure) -> Path:
    return next(path for path in drawing.files if path.suffix == ".png")


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)
