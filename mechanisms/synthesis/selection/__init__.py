"""Which marginals are measured, with what noise, and what that costs.

aim.py              AIM: round by round, what the model answers worst
camps.py            data on which one record tells most about the tree of MST
collected.py        what each run has measured so far, where runs choose different marginals
compression.py      rare values merged into one
fixed.py            a list that is given: one round
model_size.py       how large a graphical model would be
mst.py              MST: single attributes, then the pairs of a spanning tree
spanning_trees.py   spanning trees drawn edge by edge by the exponential mechanism
"""

from .aim import AIM
from .fixed import FixedMarginals
from .mst import MST

__all__ = ["AIM", "MST", "FixedMarginals"]
