"""Names of the attacks. A new one is one file and one line here; `dpassay list attacks` shows them."""

from mechanisms.registry import Catalogue

catalogue = Catalogue(
    "attack",
    {
        "likelihood-ratio": "attacks.distinguishing.likelihood_ratio:LikelihoodRatio",
        "classifier": "attacks.distinguishing.classifier:Classifier",
        "threshold": "attacks.distinguishing.threshold:Threshold",
    },
)
get = catalogue.get
build = catalogue.build
