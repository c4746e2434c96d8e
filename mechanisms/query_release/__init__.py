"""Answers to many queries at once.

matrix/                  the matrix mechanism: measure a strategy of queries, answer the workload by least squares
multiplicative_weights/  MWEM, private multiplicative weights, DualQuery and the small-database mechanism
tables/                  tables that a census publishes about a block
top_down/                TopDown: tables of a nation, its states and their counties
catalogue.py             names of strategies and of sets of tables
error_bounds.py          expected error of a strategy, a lower bound for all strategies, known rates for all mechanisms
"""
