"""PyTorch where it is loaded, without importing it: tensors as arrays, and the global random states."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def _is_tensor(value: Any) -> bool:
    """Return True for a tensor of PyTorch."""
    return isinstance(value, getattr(sys.modules.get("torch"), "Tensor", ()))


def tensor_to_array(value: Any) -> Any:
    """Return a tensor of PyTorch, which may be on a GPU, require gradients or be bfloat16, as an array.

    A list or tuple with tensors becomes a list of arrays; any other value is returned unchanged.
    """
    if isinstance(value, (list, tuple)) and any(map(_is_tensor, value)):
        return [tensor_to_array(item) for item in value]
    if not _is_tensor(value):
        return value
    tensor = value.detach().cpu()
    try:
        return tensor.numpy()
    except TypeError:  # numpy has no such type
        return tensor.double().numpy()


def random_states() -> dict[str, Any]:
    """Return the global random states of PyTorch by name: of the processor, and of each GPU once GPUs are in use."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return {}
    cuda: Any = getattr(torch, "cuda", None)
    devices = range(cuda.device_count()) if cuda is not None and cuda.is_initialized() else range(0)
    return {"torch": torch.get_rng_state()} | {f"torch on cuda:{i}": cuda.get_rng_state(i) for i in devices}


def set_random_states(states: dict[str, Any]) -> None:
    """Set the global random states of PyTorch to those that `random_states` returned."""
    torch: Any = sys.modules.get("torch")
    for name, state in states.items():
        if name == "torch":
            torch.set_rng_state(state)
        else:
            torch.cuda.set_rng_state(state, name.removeprefix("torch on "))


@contextmanager
def own_random_states(seed: int | None = None) -> Iterator[None]:
    """Restore the global random states of PyTorch afterwards; with a seed, start from it.

    A GPU that is used for the first time inside has no former state, and keeps its last one.
    """
    states = random_states()
    try:
        if seed is not None and "torch" in sys.modules:
            sys.modules["torch"].manual_seed(seed)
        yield
    finally:
        set_random_states(states)
