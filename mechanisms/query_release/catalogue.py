"""Names that a configuration can select: strategies of the matrix mechanism, sets of tables.

strategy = {name = "hierarchical"}
tables = {name = "census"}
"""

from ..core.registry import Catalogue

strategies = Catalogue(
    "strategy",
    {
        "identity": "dpassay.mechanisms.query_release.matrix.strategies:IdentityStrategy",
        "total": "dpassay.mechanisms.query_release.matrix.strategies:TotalStrategy",
        "hierarchical": "dpassay.mechanisms.query_release.matrix.strategies:HierarchicalStrategy",
        "wavelet": "dpassay.mechanisms.query_release.matrix.strategies:WaveletStrategy",
        "workload": "dpassay.mechanisms.query_release.matrix.strategies:WorkloadStrategy",
        "given": "dpassay.mechanisms.query_release.matrix.strategies:ExplicitStrategy",
        "optimised": "dpassay.mechanisms.query_release.matrix.strategies:OptimisedStrategy",
    },
)


table_sets = Catalogue("set of tables", {"census": "dpassay.mechanisms.query_release.tables.table_set:census_tables"})
