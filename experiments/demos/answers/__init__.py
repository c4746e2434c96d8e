"""Demos on answers to queries.

column_from_counts.py   Reconstruction of a secret column from many noisy counts, and its prevention by a privacy budget
repeated_answers.py     Averaging of repeated answers: the mean of K noisy counts, the optimal attack, and the effect of
                        a budget
"""
