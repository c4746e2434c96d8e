"""Bounds that read the bits of runs with many canaries, each included by a coin toss.

one_run.py      OneRun: no assumptions
one_run_fdp.py  OneRunFDP: reads the whole trade-off curve of the claim
profile.py      the test of the whole claimed curve, at every epsilon simultaneously
guessing.py     the guessed bits, and the number of right guesses
"""
