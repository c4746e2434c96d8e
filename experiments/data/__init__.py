"""Datasets by name, and the conversions that prepare them for learning.

canary_files.py   Canary documents in a JSONL file: one JSON object in each line, one line per document
datasets.py       Datasets by name: bundled with scikit-learn, synthetic, or from a data directory
examples.py       Datasets for learning: a table split into features and target, fewer classes or records, scaled
                  features
images.py         Fixed features of images that are not learned from data
incomes.py        Incomes of people: eleven attributes of the census of 1994, or of synthetic people where it is not
                  available
json_text.py      Datasets as JSON text, as on the command line, or in a file of JSON
mails.py          Synthetic short mails: public phrases, and in some of them a code that belongs to one person
people.py         Synthetic people: a population with places, birth dates and illnesses, and ratings with dates
score_files.py    Scores of runs, canaries or rounds in a file: CSV, NPZ, Parquet or JSON
shadow_files.py   Shadow models of other code in a file: the outputs of their models on the records
table_files.py    Tables of records in a file: CSV and its kin, whose cells stay text, JSON lines, Parquet, or an array
text_files.py     Texts with the log probabilities of their tokens in a JSONL file: one JSON object in each line, one
                  line per text
"""

from .datasets import Data as Data, columns as columns, load as load
