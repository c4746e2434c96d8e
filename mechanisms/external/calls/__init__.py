"""How a function is called: by its parameters, with the same seed on both sides, and in an interpreter of its own.

style.py        how a function wants to be called, and what people call it
same_seed.py    the same seed on both sides: how far apart the parts lie that noise is added to
repeats.py      whether it would surprise that runs come again
fresh.py        runs in fresh interpreters, which remember nothing
child.py        what such an interpreter does
"""
