"""Singling out, linkability and attribute inference from a synthetic table: the three risks of Giomi et al. (2023).

base.py           Disclosure about people by a synthetic table: the interface of the attacks. Read this first
nearest_rows.py   Attacks by the nearest rows of the table, in Gower's distance (1971): linkability, and attribute
                  inference
singling_out.py   Singling out: descriptions of people as intervals of codes, and the search for one that matches one
                  person

`dpassay.audit.metrics` measures the gain over guesses without the release.
"""

from .base import Disclosure as Disclosure, PeopleGroups as PeopleGroups
from .nearest_rows import AttributeDisclosure as AttributeDisclosure, Linkability as Linkability
from .singling_out import Predicates as Predicates, SinglingOut as SinglingOut
