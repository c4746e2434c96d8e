"""Findings without statistics: what one side can give and the other cannot, and how a third party looks at it again.

base.py        Witness: its kind, what was seen, and what it contradicts
impossible.py  outputs that the other side never gives
no_randomness.py  outputs that never vary, in fresh interpreters too
event.py       the event that decided, as a rule on outputs
checker.py     checks such a file: stands alone, to be copied and run without the rest
datasets.py    datasets as JSON, where they can be
"""

from .base import CERTAIN as CERTAIN, Kind as Kind, Witness as Witness
