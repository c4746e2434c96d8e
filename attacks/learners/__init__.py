"""Models that attacks learn from pilot trials: log odds of two sides, or probabilities of k candidates.

base.py         interfaces of fitted models, the choice between models, single-threaded libraries: read this first
features.py     columns of numbers, made from outputs
additive.py     piecewise-linear functions of each column: logistic regression, and ridge regression to many targets
trees.py        histogram gradient boosting of small trees, and a random forest
table.py        one cell for each distinct output
multiclass.py   the choice of a model for k candidates
"""
