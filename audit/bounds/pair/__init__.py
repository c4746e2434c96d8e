"""Bounds that read the scores of runs on a pair of datasets.

joint.py             JointExact         both counts of one event, tested together
clopper_pearson.py   ClopperPearson     two limits on the error rates of one event
simultaneous.py      SimultaneousBand   all thresholds at once
family.py            Family             the curve taken to be one of the claim's family
betting.py           Betting            valid at every number of trials at once
learned_events.py    what `Betting` bets on next
pilot.py             how a threshold is chosen before any evidence
second_event.py      a second event, where the first one does not refute the claim and another one may
"""
