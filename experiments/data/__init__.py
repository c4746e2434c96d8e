"""Datasets by name, and the examples to learn from that are made of them.

census.py     people of made-up census blocks, and the population they are drawn from
datasets.py   datasets by name: bundled with scikit-learn, made up, or found in a data directory
mails.py      short mails that are made up, and in some of them a code that belongs to one person
people.py     people who are made up: places, birth dates and illnesses, and who rated what on which day
images.py     features of images that nobody has to learn
examples.py   datasets to learn from: a table split into features and target, fewer classes or records
"""

from .datasets import Data as Data, columns as columns, load as load
