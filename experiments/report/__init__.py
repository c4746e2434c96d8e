"""Reports: one self-contained HTML page, and Markdown for the summary of a CI job.

certificate.py   page of a certificate: tables of miss rates and means
content.py       content of the pages: text and formatted numbers, which the templates arrange
membership.py    pages of membership attacks: report.html and report.md
pages.py         pages of an experiment: report.html and report.md, and the figures inside a page
plots/           figures: each a frozen dataclass with its numbers, and a method that draws them
results/         results of an experiment: numbers, findings in words, and provenance
templates/       Jinja templates of the pages
"""

from .membership import write_membership as write_membership
from .pages import write as write
