"""Names of the ways to select and of the generators. A new one is one file and one line here."""

from ..registry import Catalogue

selections = Catalogue(
    "selection of marginals",
    {
        "fixed": "dpassay.mechanisms.synthesis.selection.fixed:FixedMarginals",
        "mst": "dpassay.mechanisms.synthesis.selection.mst:MST",
        "aim": "dpassay.mechanisms.synthesis.selection.aim:AIM",
    },
)
generators = Catalogue(
    "generator",
    {
        "direct": "dpassay.mechanisms.synthesis.generators.direct:DirectGenerator",
        "tree": "dpassay.mechanisms.synthesis.generators.tree_model:TreeModel",
    },
)
