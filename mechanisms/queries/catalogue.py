"""Names of the queries. A new one is one file and one line here."""

from ..registry import Catalogue

WORKLOADS = ("identity", "total", "prefixes", "ranges", "marginals", "parities", "random")
"""The workloads that have a constructor of their own."""

catalogue = Catalogue(
    "query",
    {
        "count": "dpassay.mechanisms.queries.counts:Count",
        "histogram": "dpassay.mechanisms.queries.counts:Histogram",
        "prefix-counts": "dpassay.mechanisms.queries.counts:PrefixCounts",
        "sum": "dpassay.mechanisms.queries.sums:Sum",
        "mean": "dpassay.mechanisms.queries.sums:Mean",
        "marginals": "dpassay.mechanisms.queries.marginals:Marginals",
        "workload": "dpassay.mechanisms.queries.workload:Workload",
        **{f"{name}-workload": f"dpassay.mechanisms.queries.workload:Workload.{name}" for name in WORKLOADS},
        "median-utility": "dpassay.mechanisms.queries.median:MedianUtility",
    },
)
get = catalogue.get
build = catalogue.build
