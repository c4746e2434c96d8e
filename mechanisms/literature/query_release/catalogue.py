"""Names that a configuration can select: strategies of the matrix mechanism, sets of tables.

strategy = {name = "hierarchical"}
tables = {name = "census"}
"""

from ...core import Catalogue

strategies = Catalogue(
    "strategy",
    "dpassay.mechanisms.literature.query_release.matrix",
    {
        "identity": "strategies:IdentityStrategy",
        "total": "strategies:TotalStrategy",
        "hierarchical": "strategies:HierarchicalStrategy",
        "wavelet": "strategies:WaveletStrategy",
        "workload": "strategies:WorkloadStrategy",
        "given": "strategies:ExplicitStrategy",
        "optimised": "strategies:OptimisedStrategy",
    },
)


table_sets = Catalogue(
    "set of tables", "dpassay.mechanisms.literature.query_release.tables", {"census": "table_set:census_tables"}
)
