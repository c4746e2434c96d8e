"""Catalogue names of the queries. A new query is one file and one line in this table."""

from ..registry import Catalogue

WORKLOADS = ("identity", "total", "prefixes", "ranges", "marginals", "parities", "random")
"""Workloads with their own constructor, a class method of `Workload`."""

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
