"""Names of the membership attacks. A new attack is one file and one line here; `dpassay list membership` shows them."""

from __future__ import annotations

from ...mechanisms.registry import Catalogue

catalogue = Catalogue(
    "membership attack",
    {
        "loss": "dpassay.attacks.membership.target.threshold:Loss",
        "correctness-gap": "dpassay.attacks.membership.target.threshold:CorrectnessGap",
        "shadow-classifier": "dpassay.attacks.membership.shadow.classifier:ShadowClassifier",
        "entropy": "dpassay.attacks.membership.target.entropy:Entropy",
        "modified-entropy": "dpassay.attacks.membership.target.entropy:ModifiedEntropy",
        "calibration": "dpassay.attacks.membership.shadow.calibration:Calibration",
        "lira": "dpassay.attacks.membership.shadow.lira:LiRA",
        "attack-p": "dpassay.attacks.membership.target.population:AttackP",
        "attack-r": "dpassay.attacks.membership.shadow.reference:AttackR",
        "rmia": "dpassay.attacks.membership.shadow.rmia:RMIA",
        "base": "dpassay.attacks.membership.shadow.base_mia:BASE",
        "quantile-regression": "dpassay.attacks.membership.target.quantile:QuantileRegression",
        "gradient-norm": "dpassay.attacks.membership.target.gradients:GradientNorm",
        "gradient-inner-product": "dpassay.attacks.membership.target.gradients:GradientInnerProduct",
        "exposure": "dpassay.attacks.membership.target.exposure:Exposure",
    },
)
get = catalogue.get
build = catalogue.build
