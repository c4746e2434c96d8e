"""Inference about people: an unknown attribute, a label, or typical examples of a class.

base.py          Sensitive (what is inferred) and AttributeInference (scores of its values): read this first
predictions.py   from a model: membership signals, error rates, leaf counts, a classifier of its predictions
imputation.py    the baselines, which see no release: the most frequent value, and a classifier on known attributes
synthetic.py     from synthetic tables: nearest rows, a classifier trained on them, correct attribution
inversion.py     model inversion: the input with the most certain prediction of a class
records.py       the label or a feature of one record, in the reconstruction game
disclosure/      singling out, linkability and attribute inference from a synthetic table
linkage/         names for records without names, by background knowledge

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
