"""Inference about people: an attribute that is not known of them, a label, what the examples of a class look like.

base.py        Sensitive (what is inferred) and AttributeInference (scores of its values): read this first
predictions.py  what a model says of records
membership.py  from membership signals, and from error rates: black box
leaf_counts.py  from the training counts in the leaves of a tree: white box
learned.py     a classifier that reads the model's predictions
imputation.py  the baselines, which see no release: the most frequent value, and a classifier on what is known
synthetic.py   from synthetic tables: nearest rows, a classifier trained on them, correct attribution
inversion.py   model inversion: the input that a class is most certain of
records.py     the same within the reconstruction game, from released models
`dpassay.audit.metrics` measures what they gain over what is guessed anyway.
disclosure/          Singling out, linkability and attribute inference from a synthetic table: the three risks of Giomi
linkage/             Names for records that have none: linkage with what others know
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
