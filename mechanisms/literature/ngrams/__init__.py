"""Language models of n-grams, private and not.

alphabet.py       Alphabets of texts: characters or words
broken.py         Intentionally broken n-gram counts: the contribution of one text is not bounded
model.py          Language models from counts of n-grams
ngram_counts.py   Noisy counts of n-grams, the basis of a private language model
"""

from .alphabet import Alphabet as Alphabet
from .model import NGramModel as NGramModel
from .ngram_counts import NGramCounts as NGramCounts
