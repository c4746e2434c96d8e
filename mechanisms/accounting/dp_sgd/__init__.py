"""Accounting of many noisy steps on batches of the records.

fixed_size.py             fixed_size_gaussian: samples of fixed size
deterministic_batches.py  deterministic_batches: shuffled and cyclic batches
noisy_sgd.py              strong_composition: the accounting before the moments accountant, and curves to compare
"""
