"""Local randomisers: each user sends a random answer, and no curator is trusted."""

from mechanisms.local.k_ary import KAryRandomizedResponse
from mechanisms.local.randomized_response import RandomizedResponse

__all__ = ["KAryRandomizedResponse", "RandomizedResponse"]
