"""Tasks of an experiment: audits, or a membership study, built and checked before the first run.

base.py              The interface of a task of an experiment (`Task` is in `dpassay.experiments.tasks.base`). Read this
                     first
build.py             Construction of the objects of a configuration: datasets, mechanisms, attacks, bounds, claims
membership.py        Membership attacks on shadow models from a configuration: metrics instead of an audit of a claim
neighbours.py        The pair of datasets that [neighbours] describes
one_run.py           [game] name = "one-run": one run, or a few, with a coin for each of many canaries
own.py               Code of the user in [mechanism] and [attack]: name = "module:object", for modules that the caller
                     allows
pair.py              The task without [game]: many runs on each of two datasets
planning.py          The tasks of an experiment, checked before the first run
point.py             A configuration at one point of its sweep: what its tables describe, built once, with errors at
                     their lines
reconstruction.py    [game] name = "reconstruction": each round draws a new secret, and guesses it
search.py            The task with [search]: a search for the pair in a domain, then a confirmation on fresh trials
shadow_releases.py   Interface of shadow releases other than models that predict labels, for [membership]
"""

from .base import PointTask as PointTask
from .membership import ShadowTask as ShadowTask, TrainedTask as TrainedTask
from .pair import PairTask as PairTask
from .planning import plan_tasks as plan_tasks
