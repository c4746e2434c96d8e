"""Demos on answers to queries.

column_from_counts.py   reconstruction of a secret column from many noisy counts, and its prevention by a budget
error_of_mwem.py        error of MWEM by rounds and epsilon, comparison with noise on every answer, and its audit
query_release.py        many queries at once: errors of six mechanisms, and the known rates
repeated_answers.py     repeated answers to one question, and their mean
top_down.py             census tables from the top down: errors by level, and the leak through invariants
"""
