"""Fitting a distribution to measured marginals: post-processing of the answers.

direct.py        over the cells of the whole domain
potentials.py    mirror descent on the potentials of a distribution, batched over runs
tree_answers.py  measured attributes and pairs as the nodes and edges of a tree, another one in each run
tree_model.py    the graphical model of a tree, another tree in each run, fitted for all runs at once
"""

from .direct import DirectGenerator
from .tree_model import TreeModel

__all__ = ["DirectGenerator", "TreeModel"]
