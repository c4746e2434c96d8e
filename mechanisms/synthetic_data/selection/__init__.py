"""The choice of the measured marginals, their noise, and the privacy cost of both.

aim.py             AIM: round by round, the marginal that the model answers worst
compression.py     rare values merged into one, and the model of independent attributes over the merged values
fixed.py           FixedMarginals: a list, measured in one round
mst.py             MST: single attributes, then the pairs of a spanning tree
spanning_trees.py  spanning trees drawn edge by edge by the exponential mechanism
"""

from .aim import AIM as AIM
from .fixed import FixedMarginals as FixedMarginals
from .mst import MST as MST
