"""Other people's mechanisms: Python functions, and objects named on the command line."""

from mechanisms.external.function import FunctionMechanism
from mechanisms.external.target import load_target

__all__ = ["FunctionMechanism", "load_target"]
