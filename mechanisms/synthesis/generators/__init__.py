"""Fitting a distribution to measured marginals: post-processing of the answers.

direct.py          over the cells of the whole domain
graphical.py       graphical models: the same distribution, by belief propagation in a junction tree
junction_tree.py   attributes in groups that form a tree
local/             over marginals that agree where they overlap; a table made from them by GUM
mixtures/          over mixtures of product distributions: relaxed tables, generator networks
potentials.py      mirror descent on the potentials of a distribution, batched over runs
problem.py         what all of them solve, and how well one does
sampling.py        tables drawn from probabilities, batched over runs
"""

from .direct import DirectGenerator
from .graphical import GraphicalModel
from .local import GradualUpdate, LocalConsistency
from .mixtures import GeneratorNetwork, RelaxedTable
from .problem import misfit

__all__ = [
    "DirectGenerator",
    "GeneratorNetwork",
    "GradualUpdate",
    "GraphicalModel",
    "LocalConsistency",
    "RelaxedTable",
    "misfit",
]
