"""Singling out, linkability and attribute inference from a synthetic table: the three risks of Giomi et al. (2023).

base.py         Disclosure and Scene: read this first
singling_out.py  SinglingOut: a description that fits one person and nobody else
linkability.py  Linkability: which two records of two parties are of one person
attribute.py    AttributeDisclosure: a value that is not known of a person
predicates.py   Predicates: descriptions, as intervals of codes, and the ways to make them
gower.py        distances of coded records, in blocks
`dpassay.audit.metrics` measures what they gain over what is guessed anyway.
"""

from .base import Disclosure as Disclosure, Scene as Scene
from .nearest_rows import AttributeDisclosure as AttributeDisclosure, Linkability as Linkability
from .singling_out import Predicates as Predicates, SinglingOut as SinglingOut
