"""Catalogue names of the queries. A new query is one file and one line in this table."""

from ...core.registry import Catalogue

WORKLOADS = ("identity", "total", "prefixes", "ranges", "marginals", "parities", "random")
"""Workloads with their own constructor, a class method of `Workload`."""

catalogue = Catalogue(
    "query",
    {
        "count": "dpassay.mechanisms.noise.queries.counts:Count",
        "histogram": "dpassay.mechanisms.noise.queries.counts:Histogram",
        "prefix-counts": "dpassay.mechanisms.noise.queries.counts:PrefixCounts",
        "sum": "dpassay.mechanisms.noise.queries.sums:Sum",
        "mean": "dpassay.mechanisms.noise.queries.sums:Mean",
        "marginals": "dpassay.mechanisms.noise.queries.marginals:Marginals",
        "workload": "dpassay.mechanisms.noise.queries.workload:Workload",
        **{f"{name}-workload": f"dpassay.mechanisms.noise.queries.workload:Workload.{name}" for name in WORKLOADS},
        "median-utility": "dpassay.mechanisms.noise.queries.counts:MedianUtility",
    },
)
get = catalogue.get
build = catalogue.build
