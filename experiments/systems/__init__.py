"""Systems of the literature, as data: what each guarantees, what implements it, and what shows it.

table.py   Tables of systems: loading, with an error for a missing or unknown field

*.toml     the systems of a family, one table each; `dpassay list systems` and the site (`make site`) show them
"""

from .table import FAMILIES as FAMILIES, System as System, load as load
