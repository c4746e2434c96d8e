"""The questions: from a configuration to numbers, plots and a report.

cli/       the command line
config/    configurations: one TOML file, one experiment; what is wrong in it is shown with its line
data/      datasets by name, and the examples to learn from that are made of them
demos/     demonstrations that run: each shows one leak, or one way to lie, in under a minute
report/    results for people: one self-contained HTML page, and Markdown for the summary of a CI job
runs/      experiments that run: from a configuration to a directory with results, figures and reports
systems/   systems of the literature, as data: what implements and shows each
"""
