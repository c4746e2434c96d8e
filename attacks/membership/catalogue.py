"""Names of the membership attacks. A new attack is one file and one line here; `dpassay list membership` shows them."""

from __future__ import annotations

from ...mechanisms.core.registry import Catalogue

catalogue = Catalogue(
    "membership attack",
    {
        "loss": "dpassay.attacks.membership.threshold:LossThreshold",
        "correctness-gap": "dpassay.attacks.membership.threshold:CorrectnessGap",
        "shadow-classifier": "dpassay.attacks.membership.classifier:ShadowClassifier",
        "entropy": "dpassay.attacks.membership.entropy:Entropy",
        "modified-entropy": "dpassay.attacks.membership.entropy:ModifiedEntropy",
        "calibration": "dpassay.attacks.membership.calibration:DifficultyCalibration",
        "lira": "dpassay.attacks.membership.lira:LiRA",
        "attack-p": "dpassay.attacks.membership.population:AttackP",
        "attack-r": "dpassay.attacks.membership.reference:AttackR",
        "rmia": "dpassay.attacks.membership.rmia:RMIA",
        "base": "dpassay.attacks.membership.base_mia:BASE",
        "quantile-regression": "dpassay.attacks.membership.quantile:QuantileRegression",
        "gradient-norm": "dpassay.attacks.membership.gradients:GradientNorm",
        "gradient-inner-product": "dpassay.attacks.membership.gradients:GradientInnerProduct",
        "exposure": "dpassay.attacks.membership.exposure:Exposure",
    },
)
get = catalogue.get
build = catalogue.build
