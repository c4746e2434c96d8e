"""Singling out, linkability and attribute inference from a synthetic table: the three risks of Giomi et al. (2023).

base.py           Disclosure and Scene: read this first
singling_out.py   SinglingOut: a description that matches exactly one person
nearest_rows.py   Linkability and AttributeDisclosure: attacks by the nearest rows of the table

`dpassay.audit.metrics` measures the gain over guesses without the release.
"""

from .base import Disclosure as Disclosure, Scene as Scene
from .nearest_rows import AttributeDisclosure as AttributeDisclosure, Linkability as Linkability
from .singling_out import Predicates as Predicates, SinglingOut as SinglingOut
