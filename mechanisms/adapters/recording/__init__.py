"""Recording and replaying the random primitives that other people's code calls.

noisy.py       noise that shows what it is added to, so that a replay can keep the noisy value
tape.py        Call, Tape: what is recorded, and how it is replayed
session.py     running: primitives are replaced while a tape runs
charges.py     what one call of a primitive gives away
standard.py    numpy, scipy.stats, random, secrets
libraries.py   the measurements of OpenDP and the mechanisms of diffprivlib
"""

from .session import running as running
from .standard import RecordingGenerator as RecordingGenerator
from .tape import Call as Call, Tape as Tape
