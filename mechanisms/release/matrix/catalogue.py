"""Names of the strategies of the matrix mechanism: strategy = {name = ...}."""

from ...registry import Catalogue

strategies = Catalogue(
    "strategy",
    {
        "identity": "dpassay.mechanisms.release.matrix.strategies:Identity",
        "total": "dpassay.mechanisms.release.matrix.strategies:Total",
        "hierarchical": "dpassay.mechanisms.release.matrix.strategies:Hierarchical",
        "wavelet": "dpassay.mechanisms.release.matrix.strategies:Wavelet",
        "workload": "dpassay.mechanisms.release.matrix.strategies:Itself",
        "given": "dpassay.mechanisms.release.matrix.strategies:Given",
        "optimised": "dpassay.mechanisms.release.matrix.strategies:Optimised",
    },
)
