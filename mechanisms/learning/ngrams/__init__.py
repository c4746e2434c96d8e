"""Language models of n-grams, private and not.

alphabet.py       symbols of texts: characters, or words
ngram_counts.py   noisy counts of n-grams, the basis of a private language model
model.py          language models from counts of n-grams
"""

from .alphabet import Alphabet as Alphabet
from .model import NGramModel as NGramModel
from .ngram_counts import NGramCounts as NGramCounts
