"""Whether the runs of one process are independent: an experiment with fresh processes.

decision.py     The decision on trials of a function of the user: whether a violation that they show may be counted
experiment.py   Runs of a function in fresh processes, each with other hashes of texts, another process id, time and
                order
"""
