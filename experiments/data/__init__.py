"""Datasets by name, and the examples to learn from that are made of them."""

from .datasets import Data, columns, load

__all__ = ["Data", "columns", "load"]
