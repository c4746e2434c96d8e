"""Names of the sets of tables that a configuration can select, as in tables = {name = "census"}."""

from ..registry import Catalogue

table_sets = Catalogue("set of tables", {"census": "dpassay.mechanisms.tables.census:census_tables"})
