"""The statement of an audit, the evidence that bounds read, and the verdict.

statement.py     claim, delta, confidence, number of hypotheses: checked in one place
scores.py        the evidence: PairScores, PairCounts, BitScores, Successes, and their Tally
coins.py         exact tests of bits as independent fair coins
game.py          the games, and the words that describe each game
verdict.py       the comparison of a bound with the claim
multiplicity.py  Bonferroni, Holm, e-BH: one statement from many
"""
