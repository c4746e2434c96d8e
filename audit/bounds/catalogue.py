"""Names of the bounds. A new one is one file and one line here; `dpassay list bounds` shows them."""

from mechanisms.registry import Catalogue

catalogue = Catalogue(
    "bound",
    {
        "clopper-pearson": "audit.bounds.clopper_pearson:ClopperPearson",
        "simultaneous-band": "audit.bounds.simultaneous:SimultaneousBand",
    },
)
get = catalogue.get
build = catalogue.build
