"""Power of an audit: what a number of trials can detect, and what to change where that is nothing.

minimum_detectable.py   Search for the least parameter at which a test rejects, in few evaluations: each margin guides
                        the next evaluation
power.py                Power of an audit: the smallest true epsilon that a given number of trials detects
remedies.py             Remedies: changes to an audit that could not have refuted its claim
rounds_needed.py        Number of rounds of a reconstruction game that refutes a false claim with a given probability:
                        for planning
"""
