"""Names of the queries. A new one is one file and one line here."""

from mechanisms.registry import Catalogue

catalogue = Catalogue(
    "query",
    {
        "count": "mechanisms.queries.counts:Count",
        "histogram": "mechanisms.queries.counts:Histogram",
        "sum": "mechanisms.queries.sums:Sum",
        "mean": "mechanisms.queries.sums:Mean",
        "median-utility": "mechanisms.queries.median:MedianUtility",
    },
)
get = catalogue.get
build = catalogue.build
