"""Answers to many queries at once.

error_rates.py   how small the error of query release can be made, as far as it is known
matrix/          measure a strategy of other queries, and work the answers out by least squares
topdown/         tables of a nation, its states and their counties, with invariants and structural zeros
weights/         from one distribution over the cells of a domain: small databases, multiplicative weights, DualQuery
"""
