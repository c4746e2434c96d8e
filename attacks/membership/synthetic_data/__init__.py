"""Was this record in the data that a synthetic table was made from? Higher score = it was.

base.py                  TableAttack, LearnedAttack, and the records in which a pair differs: read this first
generated_queries.py     GeneratedQueries: the number of rows that agree with the record on a few of its attributes
groundhog.py             summary statistics that do not depend on the record
marginal_likelihood.py   MarginalLikelihood: normal laws of the record's cells in some marginals
records.py               RecordAttack, whose scores need no pilot; ClosestRecord, Neighbourhood
density.py               DensityRatio: the density at the record, compared with the density of known records
levels.py                the levels of columns: values, or bins of real numbers
shadows.py               ShadowTables: a synthesiser in the membership game
"""

from .base import LearnedAttack as LearnedAttack, TableAttack as TableAttack
from .density import DensityRatio as DensityRatio
from .generated_queries import GeneratedQueries as GeneratedQueries
from .groundhog import Groundhog as Groundhog, GroundhogMembership as GroundhogMembership
from .marginal_likelihood import MarginalLikelihood as MarginalLikelihood
from .records import (
    ClosestRecord as ClosestRecord,
    Known as Known,
    Neighbourhood as Neighbourhood,
    RecordAttack as RecordAttack,
)
from .shadows import ShadowTables as ShadowTables
