"""Names of the canaries. A new canary is one class and one line here."""

from ...mechanisms.core import Catalogue

catalogue = Catalogue(
    "canary",
    "dpassay.attacks.canaries",
    {
        "natural": "examples:Natural",
        "mislabelled": "examples:Mislabelled",
        "blank": "examples:Blank",
        "clip-bkd": "examples:ClipBKD",
        "dirac": "gradients:Dirac",
        "random-direction": "gradients:RandomDirection",
        "orthogonal-direction": "gradients:OrthogonalDirection",
    },
    group="dpassay.canaries",
)
