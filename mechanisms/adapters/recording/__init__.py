"""Recording and replaying of the random primitives that audited code calls.

charges.py     Privacy cost of one call of a primitive, from its inputs on two neighbouring datasets
libraries.py   Primitives of OpenDP (measurements) and of diffprivlib (mechanisms), if these libraries are loaded
noisy.py       Noise that records the numbers it is added to, so that a replay can keep the noisy value and move the
               noise
session.py     Recording session: while a tape runs, known primitives are replaced by recorded ones
standard.py    Primitives of numpy, scipy.stats, random and secrets
tape.py        Tape of the random primitives that a program calls: recorded on one dataset, replayed on a neighbouring
               one
"""

from .session import running as running
from .standard import RecordingGenerator as RecordingGenerator
from .tape import PrimitiveCall as PrimitiveCall, Tape as Tape
