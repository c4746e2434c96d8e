"""Was this record in the data that a synthetic table was made from? Higher score = it was.

base.py                  Interfaces of attacks on synthetic tables: read this first
density.py               Attack by density, and the estimators of the log density of a table at a record, for all tables
                         at once
generated_queries.py     The generated-query attack: counts of synthetic rows that agree with the record on sets of
                         attributes
groundhog.py             Summary statistics of a synthetic table: a classifier on them, or a rule for each record in the
                         membership game
levels.py                Levels of the columns of tables: the values of a column with few values, bins of a column with
                         many
marginal_likelihood.py   The marginal-likelihood attack: likelihood ratio of the counts in the record's cells of some
                         marginals
records.py               Attacks that score a table at a record and learn nothing from the pilot; those by distance
shadows.py               Synthesisers in the membership game: each model is a table, scored at a record by distance and
                         density
"""

from .base import LearnedAttack as LearnedAttack, TableAttack as TableAttack
from .density import DensityRatio as DensityRatio
from .generated_queries import GeneratedQueries as GeneratedQueries
from .groundhog import Groundhog as Groundhog, GroundhogMembership as GroundhogMembership
from .marginal_likelihood import MarginalLikelihood as MarginalLikelihood
from .records import (
    ClosestRecord as ClosestRecord,
    KnownRecords as KnownRecords,
    Neighbourhood as Neighbourhood,
    RecordAttack as RecordAttack,
)
from .shadows import ShadowTables as ShadowTables
