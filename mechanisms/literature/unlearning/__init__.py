"""Unlearning: models that must forget records.

base.py        Interface of unlearning: a pair of training histories, and the model that all methods train. Read this
               first
broken.py      Intentionally broken unlearning: noise for one forgotten record while several are forgotten
certified.py   Unlearning with a certificate: noise that covers the distance to the retrained model
heuristic.py   Unlearning of models that were trained with a random start and random batches: no method has a
               certificate
"""

from .certified import CertifiedUnlearning as CertifiedUnlearning
from .heuristic import Unlearning as Unlearning
