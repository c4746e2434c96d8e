"""Demos on answers to queries.

column_from_counts.py   Reconstruction of a secret column from many noisy counts, and its prevention by a privacy budget
error_of_mwem.py        Error of MWEM against rounds and epsilon, compared with plain noise, and an audit of its
                        transcript
repeated_answers.py     Averaging of repeated answers: the mean of K noisy counts, the optimal attack, and the effect of
                        a budget
top_down.py             TopDown on a synthetic nation: errors by level, bias of small counties, and the leak through
                        invariants
"""
