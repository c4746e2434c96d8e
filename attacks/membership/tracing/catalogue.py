"""Names of the statistics of tracing.

A new statistic is one file and one line here; `dpassay list tracing` shows them.
"""

from __future__ import annotations

from ....mechanisms.core.registry import Catalogue

catalogue = Catalogue(
    "tracing statistic",
    {
        "inner-product": "dpassay.attacks.membership.tracing.inner_product:InnerProduct",
        "homer": "dpassay.attacks.membership.tracing.differences:Homer",
        "truncated-product": "dpassay.attacks.membership.tracing.differences:TruncatedProduct",
        "likelihood-ratio": "dpassay.attacks.membership.tracing.likelihood_ratio:TracingLikelihoodRatio",
        "exact-likelihood-ratio": "dpassay.attacks.membership.tracing.likelihood_ratio:ExactLikelihoodRatio",
    },
)
