"""Names of sets of tables: tables = {name = "census"} in a configuration."""

from ..registry import Catalogue

table_sets = Catalogue("set of tables", {"census": "dpassay.mechanisms.tables.census:census_tables"})
