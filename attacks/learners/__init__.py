"""Models that attacks learn from pilot trials: log odds of two sides, or probabilities of k candidates.

additive.py     Regression on piecewise-linear functions: log odds = intercept + sum over columns c of f_c(x_c)
base.py         Interfaces of fitted models, the choice between models, and single-threaded numerical libraries
features.py     Columns of numbers, made from outputs, that a classifier can read
multiclass.py   Models of k classes, which estimate the candidate that a row came from
quadratic.py    Two normal distributions: log odds that are quadratic in the columns, for sides that differ in their
                correlations
table.py        One cell for each distinct output: the best model when there are few distinct outputs
trees.py        Trees: gradient boosting on histograms, and a random forest, for what no smooth function of a column
                shows
"""
