"""Demos on answers to queries.

column_from_counts.py   a secret column from many noisy counts, and what a budget does to it
error_of_mwem.py        MWEM against rounds, against epsilon, beside noise on every answer, and its audit
query_release.py        many queries at once: errors of six mechanisms, and the rates that theory knows
repeated_answers.py     the same question asked again, and the mean of the answers
top_down.py             tables of a census from the top down: errors by level, and what invariants give away
"""
