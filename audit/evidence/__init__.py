"""What an audit is asked and what it reads: low in the room, everybody reads it.

statement.py      claim, delta, confidence, number of hypotheses: checked in one place
scores.py         the evidence that bounds read: PairScores, PairCounts, BitScores, Successes, and their Tally
coins.py          whether bits can be independent fair coins
verdict.py        bound against claim
multiplicity.py   Bonferroni, Holm, e-BH: one statement out of many
game.py   which game made the evidence, and what differs in words between games: one table
"""
