"""Environments of other libraries, one for each, below .venv-gallery; they are kept."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[3]
ENVIRONMENTS = ROOT / ".venv-gallery"


def environment(name: str, install: Sequence[str]) -> Path:
    """Return the interpreter of an environment, made if it is missing or has other arguments of `pip install`."""
    folder = ENVIRONMENTS / name
    python, stamp = folder / "bin" / "python", folder / "installed.txt"
    wanted = "\n".join(install)
    if not stamp.exists() or stamp.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "numpy", *install], check=True)
        stamp.write_text(wanted)
    return python
