"""Reports: one self-contained HTML page, Markdown for the summary of a CI job, and files for build servers.

builds/    Results for build servers: each form renders the text of the result, without values of datasets and outputs
card/      Evidence card of a run: what was claimed, how it was tested, what it showed, and which hazards that covers
pages.py   Report pages of an experiment, report.html and report.md, and the figures inside all pages
plots/     Figures: each a frozen dataclass with its numbers, and a method that draws them
results/   Results of an experiment: numbers, findings in words, and provenance
terms.py   The terms that results print, each with its meaning: pages show those that occur in them

Nothing is imported here: the results of a finished run are read without jinja2 and matplotlib.
"""
