"""Fitting a distribution to measured marginals: post-processing of the answers.

direct.py              Direct method: the best distribution over the whole domain; and systematic samples, batched over
                       runs
generator_network.py   GEM: a network that turns noise into mixtures of product distributions (Liu, Vietri and Wu 2021)
gradual_update.py      GUM: a table updated a few records at a time until it has the target marginals
graphical_model.py     Graphical models: the best of all distributions, represented by the marginals of a junction tree
                       (Private-PGM)
junction_tree.py       Junction trees: attributes in groups, so that every marginal lies in one group and the groups
                       form a tree
local_consistency.py   Local consistency: marginals that agree where they overlap, and a table generated from them by
                       GUM
mirror_descent.py      Potentials of a distribution fitted to noisy marginals: mirror descent, batched over runs
objective.py           Optimisation problem of a generator: the distribution that makes the noisy answers most likely
product_mixtures.py    Uniform mixtures of product distributions, their marginals and gradients; the common form of RAP
                       and GEM
relaxed_table.py       Relaxed tables: RAP (Aydore et al. 2021), and RAP with a softmax (Liu, Vietri and Wu 2021)
tree_model.py          Graphical model of a tree that differs between runs, fitted for all runs at once
"""

from .direct import DirectGenerator as DirectGenerator
from .generator_network import GeneratorNetwork as GeneratorNetwork
from .graphical_model import GraphicalModel as GraphicalModel, MbiGraphicalModel as MbiGraphicalModel
from .local_consistency import GradualUpdate as GradualUpdate, LocalConsistency as LocalConsistency
from .objective import marginal_loss as marginal_loss
from .relaxed_table import RelaxedTable as RelaxedTable
from .tree_model import TreeModel as TreeModel
