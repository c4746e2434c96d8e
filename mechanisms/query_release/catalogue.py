"""Names that a configuration can select: strategies of the matrix mechanism, sets of tables.

strategy = {name = "hierarchical"}
tables = {name = "census"}
"""

from ..core.registry import Catalogue

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


table_sets = Catalogue("set of tables", {"census": "dpassay.mechanisms.query_release.tables.table_set:census_tables"})
