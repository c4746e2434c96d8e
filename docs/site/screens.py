"""Pictures of the pages that commands write, for the gallery: `make screens` writes docs/gallery/screen-*.png.

The runs are those of tests/browser; a picture shows the top of a page at a width and in a theme.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import chromium

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / "docs" / "gallery"
PICTURES = {
    "single": ("single", "report.html", 1000, False),
    "refuted": ("refuted", "report.html", 1000, True),
    "consistent": ("consistent", "report.html", 1000, False),
    "membership": ("membership", "report.html", 1000, False),
    "texts": ("texts", "report.html", 1000, True),
    "risk-clean": ("risk-clean", "report.html", 390, False),
    "risk-leaking": ("risk-leaking", "report.html", 390, True),
    "certificate": ("certificate", "report.html", 390, False),
    "card": ("refuted", "card.html", 1000, False),
}
"""Picture -> run, page, width in pixels, and whether it is dark."""
HEIGHT = 800


def main() -> int:
    """Make the runs, and write a picture of each page."""
    sys.path.append(str(ROOT))
    from tests.browser.runs import RUNS, dpassay

    with tempfile.TemporaryDirectory() as place, chromium.Chromium() as browser:
        for name, (run, file, width, dark) in PICTURES.items():
            folder = Path(place) / run
            if not folder.exists():
                folder.mkdir()
                RUNS[run](folder)
            if file.startswith("card") and not (folder / "out" / file).exists():
                dpassay(folder, "card", "out")
            page = browser.open((folder / "out" / file).as_uri())
            page.look(width, dark=dark, height=HEIGHT)
            page.picture(GALLERY / f"screen-{name}.png")
            print(name, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
