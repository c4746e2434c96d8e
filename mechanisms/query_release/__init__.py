"""Answers to many queries at once.

error_rates.py   how small the error of query release can be made, as far as it is known
matrix/          measure a strategy of other queries, and work the answers out by least squares
multiplicative_weights/ Answers to many queries at once, from one distribution over the cells of a domain
tables/              Published tables of a block of people, and how they are published
top_down/            TopDown: tables of a nation, its states and their counties, as a census publishes them
"""
