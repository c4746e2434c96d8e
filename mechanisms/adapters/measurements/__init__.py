"""Single releases of other libraries as mechanisms: what they promise is read from the library itself.

from_opendp.py        a measurement of OpenDP, with the promise of its privacy map
from_diffprivlib.py   a mechanism or a tool of diffprivlib, with its own epsilon, or that of its accountant
"""

from .from_diffprivlib import diffprivlib_mechanism as diffprivlib_mechanism, diffprivlib_tool as diffprivlib_tool
from .from_opendp import opendp_measurement as opendp_measurement
