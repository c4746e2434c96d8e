"""Was this record in the data that a synthetic table was made from? Higher score = it was.

base.py               TableAttack, LearnedAttack, and the records in which a pair differs: read this first
levels.py             the levels of columns: values, or bins of real numbers
generated_queries.py  GeneratedQueries: how many synthetic rows agree with the record on a few of its attributes
"""

from .base import LearnedAttack, TableAttack
from .generated_queries import GeneratedQueries

__all__ = ["GeneratedQueries", "LearnedAttack", "TableAttack"]
