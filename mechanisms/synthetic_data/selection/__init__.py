"""Which marginals are measured, with what noise, and what that costs.

aim.py              AIM: round by round, what the model answers worst
compression.py      rare values merged into one
fixed.py            a list that is given: one round
model_size.py       how large a graphical model would be
mst.py              MST: single attributes, then the pairs of a spanning tree
spanning_trees.py   spanning trees drawn edge by edge by the exponential mechanism
measured_marginals.py Measurements of each run so far, when runs choose different marginals
worst_case_clusters.py Data on which one record gives the most information about the tree that MST chooses
"""

from .aim import AIM as AIM
from .fixed import FixedMarginals as FixedMarginals
from .mst import MST as MST
