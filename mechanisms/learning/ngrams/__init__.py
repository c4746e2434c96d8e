"""Language models of n-grams, private and not.

alphabet.py       Alphabets of texts: characters or words
model.py          Language models from counts of n-grams
ngram_counts.py   Noisy counts of n-grams, the basis of a private language model
"""

from .alphabet import Alphabet as Alphabet
from .model import NGramModel as NGramModel
from .ngram_counts import NGramCounts as NGramCounts
