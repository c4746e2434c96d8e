"""Datasets by name, and the conversions that prepare them for learning.

census.py     synthetic people of census blocks, and the population that they are drawn from
datasets.py   datasets by name: bundled with scikit-learn, synthetic, or from a data directory
examples.py   datasets for learning: features and target, fewer classes or records, scaled features
images.py     fixed features of images that are not learned from data
mails.py      synthetic short mails, in some of them a code that belongs to one person
people.py     synthetic people: places, birth dates and illnesses, and ratings with dates
"""

from .datasets import Data as Data, columns as columns, load as load
