"""Power of an audit: what a number of trials can detect, and what to change where that is nothing.

power.py               the smallest true epsilon that the trials detect 9 times in 10
minimum_detectable.py  the search for the least parameter at which a test rejects, in few evaluations
remedies.py            changes to an audit that could not have refuted its claim
rounds_needed.py       the number of rounds of a reconstruction game that refutes a false claim
"""
