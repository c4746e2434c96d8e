"""Reports: one self-contained HTML page, and Markdown for the summary of a CI job.

card/            Evidence card of a run: what was claimed, how it was tested, what it showed, and which hazards that
                 covers
certificate.py   HTML page of a certificate: texts and tables, which the template arranges
content.py       Content of the report pages as formatted text, which the templates arrange
membership.py    Report pages of membership attacks, report.html and report.md, which the templates arrange
pages.py         Report pages of an experiment, report.html and report.md, and the figures inside all pages
plots/           Figures: each a frozen dataclass with its numbers, and a method that draws them
results/         Results of an experiment: numbers, findings in words, and provenance
table_risk.py    Report pages of the risks of a synthetic table, report.html and report.md, which the templates arrange

Nothing is imported here: the results of a finished run are read without jinja2 and matplotlib.
"""
