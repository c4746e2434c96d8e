"""Names of the membership attacks. A new attack is one file and one line here; `dpassay list membership` shows them."""

from __future__ import annotations

from ...mechanisms.core.registry import Catalogue

catalogue = Catalogue(
    "membership attack",
    {
        "loss": "dpassay.attacks.membership.thresholds:LossThreshold",
        "correctness-gap": "dpassay.attacks.membership.thresholds:CorrectnessGap",
        "shadow-classifier": "dpassay.attacks.membership.learned:ShadowClassifier",
        "entropy": "dpassay.attacks.membership.thresholds:Entropy",
        "modified-entropy": "dpassay.attacks.membership.thresholds:ModifiedEntropy",
        "calibration": "dpassay.attacks.membership.comparisons:DifficultyCalibration",
        "lira": "dpassay.attacks.membership.likelihood_ratios:LiRA",
        "bavaria": "dpassay.attacks.membership.likelihood_ratios:BaVarIA",
        "attack-p": "dpassay.attacks.membership.comparisons:AttackP",
        "attack-r": "dpassay.attacks.membership.comparisons:AttackR",
        "rmia": "dpassay.attacks.membership.likelihood_ratios:RMIA",
        "base": "dpassay.attacks.membership.likelihood_ratios:BASE",
        "quantile-regression": "dpassay.attacks.membership.learned:QuantileRegression",
        "gradient-norm": "dpassay.attacks.membership.gradients:GradientNorm",
        "gradient-inner-product": "dpassay.attacks.membership.gradients:GradientInnerProduct",
        "label-only": "dpassay.attacks.membership.thresholds:LabelOnly",
        "exposure": "dpassay.attacks.membership.comparisons:Exposure",
    },
)
