"""Names of the canaries. A new one is one class and one line here."""

from mechanisms.registry import Catalogue

catalogue = Catalogue(
    "canary",
    {
        "natural": "attacks.canaries.examples:Natural",
        "mislabelled": "attacks.canaries.examples:Mislabelled",
        "blank": "attacks.canaries.examples:Blank",
        "clip-bkd": "attacks.canaries.examples:ClipBKD",
        "dirac": "attacks.canaries.gradients:Dirac",
        "random-direction": "attacks.canaries.gradients:RandomDirection",
    },
)
get = catalogue.get
build = catalogue.build
