"""The questions: from a configuration to numbers, plots and a report.

cli/       the command line
config/    configurations: one TOML file, one experiment; what is wrong in it is shown with its line
data/      datasets by name, and the examples to learn from that are made of them
demos/     lectures that run: each shows one leak, or one way to lie, in under a minute
plots/     figures: each a frozen dataclass that holds its numbers, and draws them when asked
plugin/    what `dpassay.pytest_plugin` calls: privacy claims as tests
report/    results for people: one self-contained HTML page, and Markdown for the summary of a CI job
results/   what an experiment found: the result of a sweep, its numbers and findings in words
runs/      experiments that run: from a configuration to a directory with results, figures and reports
systems/   the systems of the literature, as data: what implements, tests and shows each
tasks/     what an experiment runs: its audits or its membership study, built and checked before anything runs
"""
