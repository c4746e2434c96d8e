"""The systems that the literature describes, as data: what each promises, and what implements, tests and shows it.

table.py   System, load: the reader
*.toml     the families

One TOML file a family, one table a system; `dpassay list systems` and docs/systems.md show them.
"""

from .table import FAMILIES as FAMILIES, System as System, load as load
