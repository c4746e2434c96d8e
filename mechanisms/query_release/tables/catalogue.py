"""Names of the sets of tables that a configuration can select, as in tables = {name = "census"}."""

from ...core.registry import Catalogue

table_sets = Catalogue("set of tables", {"census": "dpassay.mechanisms.query_release.tables.census:census_tables"})
