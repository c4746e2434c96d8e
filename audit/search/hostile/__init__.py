"""Hostile data: pairs of neighbouring datasets that broke released libraries, from one example dataset.

forms.py    Forms of a dataset: its records as a list, a dataset of the same form from other records, and its text in
            Python
pairs.py    Pairs of neighbouring datasets with hostile data, from one example dataset
values.py   Hostile values of a record: for numbers, categories, and rows of these
"""

from .values import FAMILIES as FAMILIES
