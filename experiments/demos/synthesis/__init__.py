"""Demos on synthetic data.

deniable_records.py           synthetic records that many could have given, what that promises and what it does not
disclosure.py                 singling out, linkability and attribute inference: copies against a private table
five_marginals.py             five noisy marginals of a census, synthetic records of them, and what an audit shows
generators/                   five ways to make synthetic data of noisy marginals, measured against each other
synthetic_is_not_private.py   synthetic rows that give people away, a metric that does not see it, and the cure
which_marginals.py            what each count of MST, and each of its choices, gives away of one person
"""
