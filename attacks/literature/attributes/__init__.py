"""Inference about people: an unknown attribute, a label, or typical examples of a class.

inversion.py     Model inversion: reconstruction of a typical training example of a class
predictions.py   Attribute inference from a model: its predictions for each person with each value, or the counts in its
                 leaves
records.py       Inference within the reconstruction game: one attribute of one record is random, and models are
                 released
synthetic.py     Attribute inference from synthetic tables: the release is rows (X, y)
"""

from .inversion import Inversion as Inversion, closeness as closeness
from .predictions import (
    ErrorRates as ErrorRates,
    FromMembership as FromMembership,
    LeafCounts as LeafCounts,
    LearnedInference as LearnedInference,
)
from .records import ModelConfidence as ModelConfidence
from .synthetic import (
    CorrectAttribution as CorrectAttribution,
    NearestRows as NearestRows,
    TrainedOnSynthetic as TrainedOnSynthetic,
)
