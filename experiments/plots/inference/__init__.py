"""Figures of attacks on the data of people: metrics, no bound on epsilon.

gain.py   an attack beside what is guessed anyway
"""

from .gain import GainOverBaselines, draw_gain

__all__ = ["GainOverBaselines", "draw_gain"]
