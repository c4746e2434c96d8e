"""Names of the selections and of the generators. Adding one takes one file and one line in this module."""

from ..core.registry import Catalogue

selections = Catalogue(
    "selection of marginals",
    {
        "fixed": "dpassay.mechanisms.synthetic_data.selection.fixed:FixedMarginals",
        "mst": "dpassay.mechanisms.synthetic_data.selection.mst:MST",
        "aim": "dpassay.mechanisms.synthetic_data.selection.aim:AIM",
        "broken-mst-best-tree": "dpassay.mechanisms.broken.synthetic_data:BestTree",
        "broken-mst-merged-by-exact-counts": "dpassay.mechanisms.broken.synthetic_data:MergedByExactCounts",
        "broken-aim-annealing-not-accounted": "dpassay.mechanisms.broken.synthetic_data:AnnealingNotAccounted",
    },
)
generators = Catalogue(
    "generator",
    {
        "direct": "dpassay.mechanisms.synthetic_data.generators.direct:DirectGenerator",
        "generator-network": "dpassay.mechanisms.synthetic_data.generators.generator_network:GeneratorNetwork",
        "gradual-update": "dpassay.mechanisms.synthetic_data.generators.local_consistency:GradualUpdate",
        "graphical": "dpassay.mechanisms.synthetic_data.generators.graphical_model:GraphicalModel",
        "local-consistency": "dpassay.mechanisms.synthetic_data.generators.local_consistency:LocalConsistency",
        "relaxed-table": "dpassay.mechanisms.synthetic_data.generators.relaxed_table:RelaxedTable",
        "tree": "dpassay.mechanisms.synthetic_data.generators.tree_model:TreeModel",
    },
)
