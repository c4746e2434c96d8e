"""Local randomisers: each user sends a random answer, and no curator is trusted."""

from .k_ary import KAryRandomizedResponse
from .randomized_response import RandomizedResponse

__all__ = ["KAryRandomizedResponse", "RandomizedResponse"]
