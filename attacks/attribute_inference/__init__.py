"""Inference about people: an unknown attribute, a label, or typical examples of a class.

base.py          Attribute inference: the unknown attribute, and the interface of the attacks. Read this first
disclosure/      Singling out, linkability and attribute inference from a synthetic table: the three risks of Giomi et
                 al. (2023)
imputation.py    Guesses without any release: the baselines of attribute inference
inversion.py     Model inversion: reconstruction of a typical training example of a class
linkage/         Names for records without names: linkage with background knowledge
predictions.py   Attribute inference from a model: its predictions for each person with each value, or the counts in its
                 leaves
records.py       Inference within the reconstruction game: one attribute of one record is random, and models are
                 released
synthetic.py     Attribute inference from synthetic tables: the release is rows (X, y)

`dpassay.audit.metrics` measures the gain over guesses without the release.
"""

from .base import AttributeInference as AttributeInference, Sensitive as Sensitive
from .imputation import Imputation as Imputation, Majority as Majority
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
