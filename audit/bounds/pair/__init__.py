"""Bounds that read the scores of runs on a pair of datasets.

betting.py           The anytime-valid bound: one test martingale against every epsilon
clopper_pearson.py   The bound from one event: exact binomial limits at a threshold that was fixed before the evaluation
                     trials
family.py            The bound from the smallest member of the claim's family of curves that one event does not refute
joint.py             The bound from a joint test of both counts of one event, at a threshold and in a direction fixed
                     beforehand
learned_events.py    The events of the next bets, learned from past scores
orientation.py       The orientation of scores: a higher score means side 1, or, with reversed scores, side 0
pilot.py             The event of the bounds that read one event: the threshold is fixed beforehand, or chosen on pilot
                     scores
pilot_bet.py         E-values of the trials of one build against a claim, from bets that the pilot of the build fixes
second_event.py      A second event, for claims that are refuted by another event than the one with the largest expected
                     bound
simultaneous.py      The bound over all thresholds: limits on both error rates that hold at every threshold
                     simultaneously
"""
