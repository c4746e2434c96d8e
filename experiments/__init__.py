"""Experiments: from a configuration to numbers, figures and a report.

cli/       the command line
config/    configurations: one TOML file describes one experiment; errors show file, line and key
configs/   the configurations that come with dpassay
data/      datasets by name, and the conversions that prepare them for learning
demos/     demos that run: each shows one leak, or one misleading claim, in under a minute
plugin/    privacy claims as tests of pytest: the code behind `dpassay.pytest_plugin`, which holds the hooks
report/    reports: one self-contained HTML page, and Markdown for the summary of a CI job
runs/      runs of experiments: from a configuration to a directory with results, figures and reports
systems/   systems of the literature, as data: what implements and shows each
"""
