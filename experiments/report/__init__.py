"""Results for people: one self-contained HTML page, and Markdown for the summary of a CI job.

certificate.py   the page of a certificate: what was measured, in words and tables
content.py       what the pages show, as plain text and numbers already written out: the templates only arrange it
figures.py       figures inside a page: one SVG element each, in the theme of the page, with a caption
membership.py    the pages of membership attacks: report.html and report.md
pages.py         writes the pages: report.html and report.md
plots/               Figures: each a frozen dataclass that holds its numbers, and draws them when asked
results/             What an experiment found: the result of a sweep, its numbers and findings in words, and what it wa
"""

from .membership import write_membership as write_membership
from .pages import write as write
