"""Fitting a distribution to measured marginals: post-processing of the answers.

direct.py          over the cells of the whole domain
graphical.py       graphical models: the same distribution, by belief propagation in a junction tree
junction_tree.py   attributes in groups that form a tree
local/             over marginals that agree where they overlap; a table made from them by GUM
mixtures/          over mixtures of product distributions: relaxed tables, generator networks
potentials.py      mirror descent on the potentials of a distribution, batched over runs
problem.py         what all of them solve, and how well one does
reference.py       graphical models of the library mbi, to compare with
sampling.py        tables drawn from probabilities, batched over runs
tree_answers.py    measured attributes and pairs as the nodes and edges of a tree, another one in each run
tree_model.py      the graphical model of a tree, another tree in each run, fitted for all runs at once
"""

from .direct import DirectGenerator as DirectGenerator
from .graphical import GraphicalModel as GraphicalModel
from .local.consistency import GradualUpdate as GradualUpdate, LocalConsistency as LocalConsistency
from .mixtures.network import GeneratorNetwork as GeneratorNetwork
from .mixtures.relaxed import RelaxedTable as RelaxedTable
from .problem import misfit as misfit
from .reference import ReferenceModel as ReferenceModel
from .tree_model import TreeModel as TreeModel
