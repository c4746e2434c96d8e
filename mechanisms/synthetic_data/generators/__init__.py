"""Fitting a distribution to measured marginals: post-processing of the answers.

direct.py             DirectGenerator: over the cells of the whole domain
generator_network.py  GeneratorNetwork: GEM
gradual_update.py     GUM of PrivSyn: records are updated until their marginals are near the targets
graphical_model.py    GraphicalModel: Private-PGM, by belief propagation; the same by the library mbi
junction_tree.py      JunctionTree: attributes in groups that form a tree
local_consistency.py  LocalConsistency, GradualUpdate: marginals that agree where they overlap, and tables from them
mirror_descent.py     mirror descent on the potentials of a distribution, batched over runs
objective.py          the optimisation problem of every generator, and the misfit of a solution
product_mixtures.py   mixtures of product distributions, their marginals and gradients
relaxed_table.py      RelaxedTable: RAP
tree_model.py         TreeModel: the graphical model of a tree, another tree in each run
"""

from .direct import DirectGenerator as DirectGenerator
from .generator_network import GeneratorNetwork as GeneratorNetwork
from .graphical_model import GraphicalModel as GraphicalModel, MbiGraphicalModel as MbiGraphicalModel
from .local_consistency import GradualUpdate as GradualUpdate, LocalConsistency as LocalConsistency
from .objective import misfit as misfit
from .relaxed_table import RelaxedTable as RelaxedTable
from .tree_model import TreeModel as TreeModel
