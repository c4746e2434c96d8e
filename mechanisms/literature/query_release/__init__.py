"""Answers to many queries at once.

catalogue.py              Names that a configuration can select: strategies of the matrix mechanism, sets of tables
error_bounds.py           Expected error of the matrix mechanism, a lower bound for all its strategies, and known rates
                          for all mechanisms
matrix/                   The matrix mechanism: a strategy of queries is measured with noise, and the workload follows
                          by least squares
multiplicative_weights/   Answers to many queries at once, from one distribution over the cells of a domain
tables/                   Tables that a census publishes about a block of people, and how they are published
top_down/                 TopDown: tables of a nation, its states and their counties, as a census publishes them
"""
