"""Names of the membership attacks. A new attack is one file and one line here; `dpassay list membership` shows them."""

from __future__ import annotations

from ...mechanisms.core import Catalogue

catalogue = Catalogue(
    "membership attack",
    "dpassay.attacks.membership",
    {
        "loss": "thresholds:LossThreshold",
        "correctness-gap": "thresholds:CorrectnessGap",
        "shadow-classifier": "learned:ShadowClassifier",
        "entropy": "thresholds:Entropy",
        "modified-entropy": "thresholds:ModifiedEntropy",
        "calibration": "comparisons:DifficultyCalibration",
        "lira": "likelihood_ratios:LiRA",
        "bavaria": "likelihood_ratios:BaVarIA",
        "attack-p": "comparisons:AttackP",
        "attack-r": "comparisons:AttackR",
        "rmia": "likelihood_ratios:RMIA",
        "base": "likelihood_ratios:BASE",
        "quantile-regression": "learned:QuantileRegression",
        "gradient-norm": "gradients:GradientNorm",
        "gradient-inner-product": "gradients:GradientInnerProduct",
        "label-only": "thresholds:LabelOnly",
        "exposure": "comparisons:Exposure",
    },
    group="dpassay.membership",
)
