"""Names of the statistics of tracing.

A new statistic is one file and one line here; `dpassay list tracing` shows them.
"""

from __future__ import annotations

from ...mechanisms.registry import Catalogue

catalogue = Catalogue(
    "tracing statistic",
    {
        "inner-product": "dpassay.attacks.tracing.inner_product:InnerProduct",
        "homer": "dpassay.attacks.tracing.differences:Homer",
        "truncated-product": "dpassay.attacks.tracing.differences:TruncatedProduct",
        "likelihood-ratio": "dpassay.attacks.tracing.likelihood_ratio:LikelihoodRatio",
        "exact-likelihood-ratio": "dpassay.attacks.tracing.likelihood_ratio:ExactLikelihoodRatio",
    },
)
