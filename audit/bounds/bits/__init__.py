"""Bounds that read the bits of runs with many canaries, each in or out by the toss of a coin.

profile.py       the whole claimed curve against right guesses, at every epsilon at once
one_run.py       OneRun      assumes nothing
one_run_fdp.py   OneRunFDP   reads the claim's whole trade-off curve
guessing.py      which bits are guessed, and how many guesses were right
"""
