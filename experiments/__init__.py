"""Experiments: from a configuration to numbers, figures and a report.

ci/           Results in a build: tested claims, what became of them since a baseline, and what fails
cli/          The command line
config/       Configurations: one TOML file describes one experiment; errors show file, line and key
data/         Datasets by name, and the conversions that prepare them for learning
demos/        Demos that run: each asks a question, shows a leak or a misleading claim, and has an exercise. `dpassay
              demo NAME`
literature/   Data and studies of systems of the literature: census tables, votes of teachers, and shadow tables
plugin/       Privacy claims as tests of pytest: what is behind `dpassay.pytest_plugin`, which holds the hooks
present/      Reports: one self-contained HTML page, Markdown for the summary of a CI job, and files for build servers
runs/         Runs of experiments: from a configuration to a directory with results, figures and reports
systems/      Systems of the literature, as data: what each guarantees, what implements it, and what shows it
tasks/        Tasks: questions that are checked and ready to run. Here the interface, and those of the commands on files
"""

from typing import TYPE_CHECKING

from ..mechanisms.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from .runs.python_sweep import sweep as sweep
else:
    __getattr__, __dir__ = lazy_names(__name__)
