"""Bounds that read the scores of runs on a pair of datasets.

joint.py            JointExact: a joint test of both counts of one event
clopper_pearson.py  ClopperPearson: two limits on the error rates of one event
simultaneous.py     SimultaneousBand: limits at all thresholds
family.py           Family: assumes that the curve belongs to the family of the claim
betting.py          Betting: valid at every number of trials simultaneously
learned_events.py   the events of the next bets, learned from past scores
pilot.py            the choice of an event on pilot scores, and the thresholds that are tried
second_event.py     a second event, for claims that the first event does not refute
"""
