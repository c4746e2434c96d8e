"""Generators that search mixtures of product distributions, by gradients of their answers.

adam.py        gradient descent, batched over runs
mixture.py     what they fit: rows of weights, their marginals, records drawn from them
network.py     GEM: a network makes the rows
products.py    marginals of rows of weights, and their gradients
relaxed.py     RAP and RAP with a softmax: the rows themselves are the parameters
"""

from .mixture import Mixture as Mixture
from .network import GeneratorNetwork as GeneratorNetwork
from .relaxed import RelaxedTable as RelaxedTable
