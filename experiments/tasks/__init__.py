"""What an experiment runs: its audits or its membership study, built and checked before anything runs."""

from .audits import OneRunTask, PairTask, Task
from .membership import Study, study
from .planning import plan_tasks

__all__ = ["OneRunTask", "PairTask", "Study", "Task", "plan_tasks", "study"]
