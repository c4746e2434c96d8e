"""Catalogue names of the queries. A new query is one file and one line in this table."""

from ...core import Catalogue

WORKLOADS = ("identity", "total", "prefixes", "ranges", "marginals", "parities", "random")
"""Workloads with their own constructor, a class method of `Workload`."""

catalogue = Catalogue(
    "query",
    "dpassay.mechanisms.noise.queries",
    {
        "count": "counts:Count",
        "histogram": "counts:Histogram",
        "prefix-counts": "counts:PrefixCounts",
        "sum": "sums:Sum",
        "mean": "sums:Mean",
        "marginals": "marginals:Marginals",
        "workload": "workload:Workload",
        **{f"{name}-workload": f"workload:Workload.{name}" for name in WORKLOADS},
        "median-utility": "counts:MedianUtility",
    },
)
get = catalogue.get
build = catalogue.build
