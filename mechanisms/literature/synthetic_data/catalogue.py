"""Names of the selections and of the generators. Adding one takes one file and one line in this module."""

from ...core import Catalogue

selections = Catalogue(
    "selection of marginals",
    "dpassay.mechanisms.literature.synthetic_data",
    {
        "fixed": "selection.fixed:FixedMarginals",
        "mst": "selection.mst:MST",
        "aim": "selection.aim:AIM",
        "broken-mst-best-tree": "selection.broken:BestTree",
        "broken-mst-merged-by-exact-counts": "selection.broken:MergedByExactCounts",
        "broken-aim-annealing-not-accounted": "selection.broken:AnnealingNotAccounted",
    },
)
generators = Catalogue(
    "generator",
    "dpassay.mechanisms.literature.synthetic_data.generators",
    {
        "direct": "direct:DirectGenerator",
        "generator-network": "generator_network:GeneratorNetwork",
        "gradual-update": "local_consistency:GradualUpdate",
        "graphical": "graphical_model:GraphicalModel",
        "local-consistency": "local_consistency:LocalConsistency",
        "relaxed-table": "relaxed_table:RelaxedTable",
        "tree": "tree_model:TreeModel",
    },
)
