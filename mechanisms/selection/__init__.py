"""Mechanisms that choose one of finitely many candidates."""

from .exponential import Exponential

__all__ = ["Exponential"]
