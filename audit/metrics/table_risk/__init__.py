"""Risks of one synthetic table: records that it was made of, compared with records that it was not made of.

agreements.py     Agreements of records with rows in continuous columns, beyond what a generator that draws from a law
                  can make
causes.py         Findings about mostly the same real records are one leak: they are grouped, and its records and
                  columns named
claim.py          Test of a claim with one synthetic table: a fair coin for each unit decides whether its records are
                  real or holdout
descriptions.py   Singling out: descriptions made from rows of the table, narrow enough that no record fits by chance
holdout.py        Checks that the holdout is a random part of the pooled records, split off by the stated unit
identifying.py    Columns by which a row of the table identifies a record: by these alone it is nearer to it than to any
                  other one
keys.py           Several tables joined by keys: one row for each person, which describes the rows of the person in all
                  tables
result.py         Result of the comparison of real with holdout records: findings, facts, and what they cannot tell
risk.py           Risks of one synthetic table: the comparisons, and one family-wise error over all of them
splits.py         Exact comparison of real with holdout records, given the synthetic table
successes.py      Successes of the attacks about each pooled record: symmetric functions of the pooled records, given
                  the table
tables.py         Real, synthetic and holdout tables in one encoding, which does not depend on which pooled records are
                  the real ones
text.py           The text of the risks of a synthetic table
"""

from .claim import TossedTable as TossedTable, toss_table as toss_table
from .keys import KeyedTable as KeyedTable, TableKeys as TableKeys
from .result import Exposed as Exposed, RiskResult as RiskResult, SplitTest as SplitTest
from .risk import risk as risk
