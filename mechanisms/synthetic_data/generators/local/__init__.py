"""Generators that ask only that marginals agree where they overlap, and make a table of them.

consistency.py       the nearest marginals that agree, and GUM of PrivSyn
gradual_update.py    a table moved record by record until its marginals are the wanted ones
polytope.py          marginals that agree, and the projection onto them
"""

from .consistency import GradualUpdate as GradualUpdate, LocalConsistency as LocalConsistency
