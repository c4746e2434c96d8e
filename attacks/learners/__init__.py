"""Models that attacks learn from pilot trials. Those of two classes give log odds: log p1(x) - log p0(x), estimated.

additive.py     logistic regression on piecewise-linear functions of each column
boosting.py     histogram gradient boosting of small trees
forest.py       a random forest
multiclass.py   the same, and counts, for k classes: probabilities
ridge.py        ridge regression to many targets at once
table.py        one cell for each distinct output
threads.py      one thread for numerical libraries, so that what is learned does not depend on how many the machine has
features.py          Columns of numbers, made from outputs, that a classifier can read
"""
