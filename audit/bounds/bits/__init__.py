"""Bounds that read the bits of runs with many canaries, each included by a coin toss.

assumption_tests.py   Tests of the assumption that canaries are independent and share a curve of the claim's family
guessing.py           Guesses of bits: the most extreme scores guess "in" or "out", the others abstain
independent.py        The bound from right guesses under the assumption that canaries are independent
one_run.py            The bound from guesses of many coins in one run (Steinke, Nasr and Jagielski 2023)
one_run_fdp.py        The bound from right guesses for a whole trade-off curve f (Mahloujifar, Melis and Chaudhuri 2024)
profile.py            The test of the whole claimed curve from right guesses, at every epsilon simultaneously
"""
