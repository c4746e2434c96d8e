"""Training text from language models: extraction, and the rank of a planted canary.

generation.py      texts that a language model generates: at random, or the most probable ones
extract.py         extraction of training text: generate, rank by a signal, repeat until the best ones stay the same
secret_sharer.py   the secret sharer, and the exposure of a canary: exact, sampled and extrapolated
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
