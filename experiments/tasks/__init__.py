"""What an experiment runs: its audits or its membership study, built and checked before anything runs."""

from experiments.tasks.audits import OneRunTask, PairTask, Task
from experiments.tasks.membership import Study, study
from experiments.tasks.planning import plan_tasks

__all__ = ["OneRunTask", "PairTask", "Study", "Task", "plan_tasks", "study"]
