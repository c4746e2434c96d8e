"""Names of the strategies of the matrix mechanism: strategy = {name = ...}."""

from ...core.registry import Catalogue

strategies = Catalogue(
    "strategy",
    {
        "identity": "dpassay.mechanisms.query_release.matrix.strategies:Identity",
        "total": "dpassay.mechanisms.query_release.matrix.strategies:Total",
        "hierarchical": "dpassay.mechanisms.query_release.matrix.strategies:Hierarchical",
        "wavelet": "dpassay.mechanisms.query_release.matrix.strategies:Wavelet",
        "workload": "dpassay.mechanisms.query_release.matrix.strategies:WorkloadStrategy",
        "given": "dpassay.mechanisms.query_release.matrix.strategies:ExplicitStrategy",
        "optimised": "dpassay.mechanisms.query_release.matrix.strategies:Optimised",
    },
)
