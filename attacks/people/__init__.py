"""Attacks on people in a released table: what `dpassay risk` runs.

`dpassay.audit.metrics` measures the gain over guesses without the release.

base.py         Attribute inference: the unknown attribute, and the interface of the attacks. Read this first
disclosure/     Singling out, linkability and attribute inference from a synthetic table: the three risks of Giomi et
                al. (2023)
imputation.py   Guesses without any release: the baselines of attribute inference
"""

from .base import AttributeInference as AttributeInference, Sensitive as Sensitive
from .imputation import Imputation as Imputation, Majority as Majority
