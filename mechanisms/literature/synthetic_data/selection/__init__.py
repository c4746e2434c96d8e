"""The choice of the measured marginals, their noise, and the privacy cost of both.

aim.py              AIM: each round measures the marginal of a workload that the current model answers worst
broken.py           Intentionally broken selection of marginals: exact counts decide, or annealing is not accounted for
compression.py      Rare values merged into one, and the model of independent attributes over the compressed domain, as
                    in MST
fixed.py            A fixed list of marginals, each measured once
mst.py              MST: every attribute, then the pairs of a spanning tree chosen by the strength of dependence
spanning_trees.py   Spanning trees drawn edge by edge by the exponential mechanism: Kruskal's algorithm with noisy
                    choices, many at once
"""

from .aim import AIM as AIM
from .fixed import FixedMarginals as FixedMarginals
from .mst import MST as MST
