"""Local randomisers: each user sends a random answer, and no curator is trusted.

base.py                  what every mechanism on users' own categorical values shares
k_ary.py                 randomised response with k possible answers
randomized_response.py   randomised response: each user answers a yes/no question, and lies with a known probability
"""

from .k_ary import KAryRandomizedResponse
from .randomized_response import RandomizedResponse

__all__ = ["KAryRandomizedResponse", "RandomizedResponse"]
