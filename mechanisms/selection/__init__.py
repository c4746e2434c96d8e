"""Mechanisms that choose one of finitely many candidates."""

from mechanisms.selection.exponential import Exponential

__all__ = ["Exponential"]
