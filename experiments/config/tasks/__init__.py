"""Tasks of an experiment: audits, or a membership study, built and checked before the first run.

base.py             interface of a task: one audit, ready to run; read this first
build.py            construction of the objects of a configuration: datasets, mechanisms, attacks, bounds, claims
membership.py       [membership]: metrics of membership attacks on shadow models, instead of an audit of a claim
one_run.py          [game] name = "one-run": one run, or a few, with a coin for each of many canaries
pair.py             without [game]: many runs on each of two datasets
planning.py         the audits of an experiment, checked before the first trial; catalogue of the games
reconstruction.py   [game] name = "reconstruction": rounds that draw a secret and guess it
search.py           [search]: a search for the pair in a domain, then a confirmation on fresh trials
shadow_tables.py    [membership] of a synthesiser: membership attacks on synthetic tables
"""

from .base import Task as Task
from .membership import MembershipStudy as MembershipStudy, study as study
from .pair import PairTask as PairTask
from .planning import plan_tasks as plan_tasks
