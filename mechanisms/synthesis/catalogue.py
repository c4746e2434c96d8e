"""Names of the ways to select and of the generators. A new one is one file and one line here."""

from ..registry import Catalogue

selections = Catalogue(
    "selection of marginals",
    {
        "fixed": "dpassay.mechanisms.synthesis.selection.fixed:FixedMarginals",
    },
)
generators = Catalogue(
    "generator",
    {
        "direct": "dpassay.mechanisms.synthesis.generators.direct:DirectGenerator",
        "graphical": "dpassay.mechanisms.synthesis.generators.graphical:GraphicalModel",
        "generator-network": "dpassay.mechanisms.synthesis.generators.mixtures.network:GeneratorNetwork",
        "gradual-update": "dpassay.mechanisms.synthesis.generators.local.consistency:GradualUpdate",
        "local-consistency": "dpassay.mechanisms.synthesis.generators.local.consistency:LocalConsistency",
        "relaxed-table": "dpassay.mechanisms.synthesis.generators.mixtures.relaxed:RelaxedTable",
    },
)
