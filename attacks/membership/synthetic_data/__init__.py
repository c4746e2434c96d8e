"""Was this record in the data that a synthetic table was made from? Higher score = it was.

base.py               TableAttack, LearnedAttack, and the records in which a pair differs: read this first
generated_queries.py  GeneratedQueries: how many rows agree with the record on a few of its attributes
groundhog.py          Groundhog: summary statistics that do not look at the record
marginal_likelihood.py   MarginalLikelihood: normal laws of the record's cells in some marginals
records.py            attacks that ask a table about a record and learn nothing from the pilot
distances.py          ClosestRecord, Neighbourhood
density.py            DensityRatio: the density at the record, against that of records that were not used
estimators.py         estimates of a density
levels.py             the levels of columns: values, or bins of real numbers
shadows.py            ShadowTables: a synthesiser in the membership game
summaries.py          GroundhogMembership: what summary statistics say of many records there
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
