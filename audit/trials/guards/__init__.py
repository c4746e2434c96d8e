"""What could make trials dependent, or other trials than they seem, and is looked for while they run.

independence.py    a test of the independence that every bound leans on
replay.py          chunks that repeat earlier ones: a stream of random numbers that was used twice
unvarying.py       outputs that never vary although the function remembers something
impossible.py      outputs that the law of the other side never gives
changed.py         what audited code changed in its process
"""
