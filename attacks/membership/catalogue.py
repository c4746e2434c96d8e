"""Names of the membership attacks. A new one is one file and one line here; `dpassay list membership` shows them."""

from __future__ import annotations

from mechanisms.registry import Catalogue

catalogue = Catalogue(
    "membership attack",
    {
        "loss": "attacks.membership.threshold:Loss",
        "correctness-gap": "attacks.membership.threshold:CorrectnessGap",
        "shadow-classifier": "attacks.membership.shadow_classifier:ShadowClassifier",
        "entropy": "attacks.membership.entropy:Entropy",
        "modified-entropy": "attacks.membership.entropy:ModifiedEntropy",
        "calibration": "attacks.membership.calibration:Calibration",
        "lira": "attacks.membership.lira:LiRA",
        "attack-p": "attacks.membership.population:AttackP",
        "attack-r": "attacks.membership.reference:AttackR",
        "rmia": "attacks.membership.rmia:RMIA",
        "base": "attacks.membership.base_mia:BASE",
        "quantile-regression": "attacks.membership.quantile:QuantileRegression",
        "gradient-norm": "attacks.membership.gradients:GradientNorm",
        "gradient-inner-product": "attacks.membership.gradients:GradientInnerProduct",
        "exposure": "attacks.membership.exposure:Exposure",
    },
)
get = catalogue.get
build = catalogue.build
