"""Training text out of language models: what they write by themselves, and how far up a planted canary stands.

generation.py       texts that a language model writes by itself: by chance, or the likeliest ones
signals.py          signals that a text was in the training data; higher = it was
extract.py          extraction of training text: write, rank, and repeat until the best ones stay
exposure.py         exposure: the rank of a canary among all candidates, exact, sampled and extrapolated
secret_sharer.py    the secret sharer: which of the candidates does the private language model find likeliest?
"""

from .extract import Extracted as Extracted, Extraction as Extraction
from .generation import TextSampling as TextSampling, beam_search as beam_search
from .secret_sharer import (
    ExtrapolatedExposure as ExtrapolatedExposure,
    SecretSharer as SecretSharer,
    canary_ranks as canary_ranks,
    exposure as exposure,
    exposure_of_rank as exposure_of_rank,
    extrapolated_exposure as extrapolated_exposure,
)
