"""What an experiment runs: its audits or its membership study, built and checked before anything runs.

audits.py       the games that a configuration can play, each ready to run: one class a game
build.py        what a configuration names, built: datasets, mechanisms, attacks, bounds, claims
membership.py   membership attacks on shadow models, asked by a configuration: metrics, where no claim is audited
planning.py     the audits of an experiment, checked before the first trial of the first one runs
"""

from .audits import OneRunTask, PairTask, Task
from .membership import Study, study
from .planning import plan_tasks

__all__ = ["OneRunTask", "PairTask", "Study", "Task", "plan_tasks", "study"]
