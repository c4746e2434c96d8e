"""Fitting a distribution to measured marginals: post-processing of the answers.

direct.py          over the cells of the whole domain
graphical.py       graphical models: the same distribution, by belief propagation in a junction tree
junction_tree.py   attributes in groups that form a tree
potentials.py      mirror descent on the potentials of a distribution, batched over runs
sampling.py        tables drawn from probabilities, batched over runs
"""

from .direct import DirectGenerator
from .graphical import GraphicalModel

__all__ = ["DirectGenerator", "GraphicalModel"]
