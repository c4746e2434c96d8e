"""Names of the queries. A new one is one file and one line here."""

from ..registry import Catalogue

catalogue = Catalogue(
    "query",
    {
        "count": "dpassay.mechanisms.queries.counts:Count",
        "histogram": "dpassay.mechanisms.queries.counts:Histogram",
        "prefix-counts": "dpassay.mechanisms.queries.counts:PrefixCounts",
        "sum": "dpassay.mechanisms.queries.sums:Sum",
        "mean": "dpassay.mechanisms.queries.sums:Mean",
        "median-utility": "dpassay.mechanisms.queries.median:MedianUtility",
    },
)
get = catalogue.get
build = catalogue.build
