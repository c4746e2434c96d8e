"""Names of the canaries. A new one is one class and one line here."""

from ...registry import Catalogue

catalogue = Catalogue(
    "canary",
    {
        "natural": "dpassay.mechanisms.learning.canaries.examples:Natural",
        "mislabelled": "dpassay.mechanisms.learning.canaries.examples:Mislabelled",
        "blank": "dpassay.mechanisms.learning.canaries.examples:Blank",
        "clip-bkd": "dpassay.mechanisms.learning.canaries.examples:ClipBKD",
        "dirac": "dpassay.mechanisms.learning.canaries.gradients:Dirac",
        "random-direction": "dpassay.mechanisms.learning.canaries.gradients:RandomDirection",
    },
)
get = catalogue.get
build = catalogue.build
