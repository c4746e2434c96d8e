"""Laws of measured marginals: noise on each cell that one record moves, worked out again."""

import math

import numpy as np
from tests.mechanisms import claims_laws as laws

from dpassay.mechanisms.core import Neighbours
from dpassay.mechanisms.literature.synthetic_data import DirectGenerator, FixedMarginals, SelectMeasureGenerate

DOMAIN = {"a": 2, "b": 2}
MARGINALS = (("a",), ("b", "a"))
ZEROS, ONES = [0, 0], [1, 1]


def measured(relation, **noise):
    selection = FixedMarginals(MARGINALS, relation=relation, **noise)
    return SelectMeasureGenerate(DOMAIN, selection, DirectGenerator())


def select_measure_generate():
    """Added, a record moves one cell of each marginal; replaced, two, unless both records share it."""
    add = Neighbours(np.array([ZEROS]), np.array([ZEROS, ONES]), "add_remove")
    both = Neighbours(np.array([ZEROS, ZEROS]), np.array([ZEROS, ONES]), "replace_one")
    half = Neighbours(np.array([ZEROS, ZEROS]), np.array([ZEROS, [0, 1]]), "replace_one")
    for pair, moved, worst in ((add, 2, True), (both, 4, True), (half, 2, False)):
        for deviation in (0.7, 2.0):
            mechanism = measured(pair.relation, standard_deviation=deviation)
            along = math.sqrt(moved) / deviation  # the likelihood ratio looks along the move alone
            yield mechanism, pair, laws.normal(0.0, 1.0), laws.normal(along, 1.0), 1e-5, worst
    edges = np.linspace(-5.0, 6.0, 45)
    for scale in (0.8, 2.0):
        mechanism = measured(add.relation, noise="laplace", epsilon=2.0 / scale)
        two = [laws.joint(*[laws.laplace(centre, scale, edges)] * 2) for centre in (0.0, 1.0)]
        yield mechanism, add, *two, 0.02, False


CLAIMS = {"select-measure-generate": select_measure_generate}
