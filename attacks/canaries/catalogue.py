"""Names of the canaries. A new canary is one class and one line here."""

from ...mechanisms.core.registry import Catalogue

catalogue = Catalogue(
    "canary",
    {
        "natural": "dpassay.attacks.canaries.examples:Natural",
        "mislabelled": "dpassay.attacks.canaries.examples:Mislabelled",
        "blank": "dpassay.attacks.canaries.examples:Blank",
        "clip-bkd": "dpassay.attacks.canaries.examples:ClipBKD",
        "dirac": "dpassay.attacks.canaries.gradients:Dirac",
        "random-direction": "dpassay.attacks.canaries.gradients:RandomDirection",
        "orthogonal-direction": "dpassay.attacks.canaries.gradients:OrthogonalDirection",
    },
)
