"""What an experiment runs: its audits or its membership study, built and checked, and the result of a sweep."""

from experiments.tasks.audits import OneRunTask, PairTask, Task
from experiments.tasks.membership import Study, study
from experiments.tasks.planning import plan_tasks
from experiments.tasks.results import SweepPoint, SweepResult, corrected

__all__ = ["OneRunTask", "PairTask", "Study", "SweepPoint", "SweepResult", "Task", "corrected", "plan_tasks", "study"]
