"""Names of the canaries. A new one is one class and one line here."""

from mechanisms.registry import Catalogue

catalogue = Catalogue(
    "canary",
    {
        "natural": "mechanisms.learning.canaries.examples:Natural",
        "mislabelled": "mechanisms.learning.canaries.examples:Mislabelled",
        "blank": "mechanisms.learning.canaries.examples:Blank",
        "clip-bkd": "mechanisms.learning.canaries.examples:ClipBKD",
        "dirac": "mechanisms.learning.canaries.gradients:Dirac",
        "random-direction": "mechanisms.learning.canaries.gradients:RandomDirection",
    },
)
get = catalogue.get
build = catalogue.build
