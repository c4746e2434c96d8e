"""What an experiment runs: its audits or its membership study, built and checked before anything runs.

base.py             Task: one audit, ready to run; read this first
build.py            what a configuration names, built: datasets, mechanisms, attacks, bounds, claims
membership.py       membership attacks on shadow models, asked by a configuration: metrics, where no claim is audited
one_run.py          [game] name = "one-run": its keys, its plan, its task
pair.py             without [game]: many runs on each of two datasets
search.py           with [search]: the pair is looked for in a domain, then confirmed
planning.py         the audits of an experiment, checked before the first trial of the first one runs
reconstruction.py   [game] name = "reconstruction": its keys, its plan, its task
shadow_tables.py    membership attacks on synthetic tables, where the mechanism of [membership] is a synthesiser
secrets.py          its secret: values, one of several records, or bits
"""

from .base import Task as Task
from .membership import MembershipStudy as MembershipStudy, study as study
from .pair import PairTask as PairTask
from .planning import plan_tasks as plan_tasks
