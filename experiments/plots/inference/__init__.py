"""Figures of attacks on the data of people: metrics, no bound on epsilon.

gain.py   an attack beside what is guessed anyway
disclosure.py  several attacks on synthetic tables, each beside what is guessed anyway
"""

from .disclosure import RiskByAttack
from .gain import GainOverBaselines, draw_gain

__all__ = ["GainOverBaselines", "RiskByAttack", "draw_gain"]
