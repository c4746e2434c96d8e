"""The statement of an audit, the evidence that bounds read, and the verdict.

builds.py       The evidence of one build against a claim, and what a history of builds must answer during an audit
fair_coins.py   A test of the assumption of `BitScores` that the bits are independent fair coins
game.py         The games, and one table of the words that describe each game
scores.py       The evidence that games produce and bounds read
statement.py    The statement of an audit: a claim at delta, with a confidence. All checks of these are in this module
verdict.py      The verdict: the comparison of a bound with the claim
"""
