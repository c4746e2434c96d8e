import runpy
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"


def test_the_table_of_names_is_current():
    page = runpy.run_path(str(DOCS / "build.py"))["catalogue_page"]()
    assert (DOCS / "catalogue.md").read_text() == page, "mend with: make docs"
