"""Recording and replaying of the random primitives that audited code calls.

tape.py        Call, Tape: recorded calls, and their replay
session.py     running: primitives are replaced while a tape runs
noisy.py       noise that knows the value it is added to, so that a replay can keep the noisy value
charges.py     privacy cost of one call of a primitive
standard.py    primitives of numpy, scipy.stats, random and secrets
libraries.py   measurements of OpenDP and mechanisms of diffprivlib
"""

from .session import running as running
from .standard import RecordingGenerator as RecordingGenerator
from .tape import Call as Call, Tape as Tape
