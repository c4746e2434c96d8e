"""Names of the selections and of the generators. Adding one takes one file and one line in this module."""

from ..registry import Catalogue

selections = Catalogue(
    "selection of marginals",
    {
        "fixed": "dpassay.mechanisms.synthesis.selection.fixed:FixedMarginals",
        "mst": "dpassay.mechanisms.synthesis.selection.mst:MST",
        "aim": "dpassay.mechanisms.synthesis.selection.aim:AIM",
        "broken-mst-best-tree": "dpassay.mechanisms.broken.synthesis.tree:BestTree",
        "broken-mst-merged-by-exact-counts": "dpassay.mechanisms.broken.synthesis.compression:MergedByExactCounts",
        "broken-aim-annealing-not-booked": "dpassay.mechanisms.broken.synthesis.annealing:AnnealingNotBooked",
    },
)
generators = Catalogue(
    "generator",
    {
        "direct": "dpassay.mechanisms.synthesis.generators.direct:DirectGenerator",
        "generator-network": "dpassay.mechanisms.synthesis.generators.mixtures.network:GeneratorNetwork",
        "gradual-update": "dpassay.mechanisms.synthesis.generators.local.consistency:GradualUpdate",
        "graphical": "dpassay.mechanisms.synthesis.generators.graphical:GraphicalModel",
        "local-consistency": "dpassay.mechanisms.synthesis.generators.local.consistency:LocalConsistency",
        "relaxed-table": "dpassay.mechanisms.synthesis.generators.mixtures.relaxed:RelaxedTable",
        "tree": "dpassay.mechanisms.synthesis.generators.tree_model:TreeModel",
    },
)
