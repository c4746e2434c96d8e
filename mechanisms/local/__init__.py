"""Local mechanisms: each user sends a random message, and no curator is trusted.

base.py                  Base classes of local mechanisms on categorical values
broken.py                Intentionally broken local mechanisms: a biased coin, an assumed range of the data, and ties in
                         two sets
contraction.py           Contraction of the distance of two distributions by a random channel: an equivalent form of
                         local privacy
randomized_response.py   Randomized response, with two or with k possible answers
unary_encoding.py        Messages of independently flipped bits: their base class, and unary encoding, where a value is
                         one bit of k
"""

from .randomized_response import (
    KAryRandomizedResponse as KAryRandomizedResponse,
    RandomizedResponse as RandomizedResponse,
)
from .unary_encoding import UnaryEncoding as UnaryEncoding
