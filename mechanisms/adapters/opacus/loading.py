"""Import of the module that needs PyTorch and Opacus, at the time when a model is trained."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ...core.errors import ParameterError


def training() -> Any:
    """Return the module `training`; raise `ParameterError` if PyTorch or Opacus are not installed."""
    try:
        return import_module("dpassay.mechanisms.adapters.opacus.training")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("torch", "opacus"):
            raise
        raise ParameterError(
            f"training with Opacus needs the package {error.name}, which is not installed. In a copy of "
            'dpassay: pip install ".[torch]".'
        ) from error
