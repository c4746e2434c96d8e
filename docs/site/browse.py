"""Open pages in a browser, at two widths and in both themes, and report what is wrong: `python browse.py FOLDER...`.

Checked: no request leaves the folder and none fails; no error in the console; every figure has a text alternative;
nothing is wider than the window, so that tables scroll inside their box; code is not cut at the edge of its
box. Ends with 0 where Chromium is not installed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote

import chromium

WIDTHS = (1200, 390)
SETTINGS = [(width, dark) for width in WIDTHS for dark in (False, True)]
LOOK = """(() => {
  const found = [], width = innerWidth;
  const scrolls = element =>
    element && (getComputedStyle(element).overflowX !== "visible" || scrolls(element.parentElement));
  if (document.documentElement.scrollWidth > width + 1) {
    const leaves = one => one.getBoundingClientRect().right > width + 1 && !scrolls(one.parentElement);
    const wide = [...document.querySelectorAll("body *")].filter(one => leaves(one) && !one.closest("svg *"));
    const names = wide.slice(0, 3).map(one => `${one.tagName}.${one.getAttribute("class")}`);
    found.push(`${document.documentElement.scrollWidth} pixels wide: ${names}`);
  }
  for (const picture of document.querySelectorAll("img"))
    if (!picture.alt.trim()) found.push(`no alternative text: ${picture.src.slice(0, 80)}`);
  const without = "[aria-hidden],.visually-hidden,a,button,label,.icon,summary";
  for (const svg of document.querySelectorAll("article svg:not(.sd-octicon), figure svg"))
    if (!svg.querySelector("title") && !svg.ariaLabel && !svg.closest(without)) found.push("an SVG without title");
  for (const table of document.querySelectorAll("table")) {
    const box = table.closest(".table-wrapper, .wide") || table;
    if (box.getBoundingClientRect().right > width + 1) found.push("a table leaves its box");
  }
  for (const code of document.querySelectorAll(".highlight pre, main pre"))
    if (code.scrollWidth > code.clientWidth + 1) found.push(`code is cut: ${code.textContent.slice(0, 40)}`);
  return found;
})()"""


def problems(browser: chromium.Chromium, pages: Iterable[Path], folder: Path) -> Iterator[str]:
    """Return what is wrong with pages that may request files of a folder."""
    for path in pages:
        page = browser.open(path.as_uri())
        name, found = path.relative_to(folder).as_posix(), []
        for width, dark in SETTINGS:
            page.look(width, dark=dark)
            found += [f"at {width}: {text}" for text in page.run(LOOK)]
        outside = [address for address in page.requests() if not _is_inside(address, folder)]
        found += [f"external request: {address}" for address in outside] + page.errors()
        yield from (f"{name}: {text}" for text in dict.fromkeys(found))


def _is_inside(address: str, folder: Path) -> bool:
    return address.startswith("data:") or unquote(address).startswith(folder.as_uri())


def main(folders: Iterable[str]) -> int:
    """Return 1 if a page of the folders has a problem."""
    if chromium.installed() is None:
        print("no Chromium here: the pages are not opened in a browser")
        return 0
    failed = False
    for folder in map(Path, folders):
        pages = sorted(folder.resolve().rglob("*.html"))
        with chromium.Chromium() as browser:
            for line in problems(browser, pages, folder.resolve()):
                failed = True
                print(line, flush=True)
        print(f"{len(pages)} pages of {folder}, at {' and '.join(map(str, WIDTHS))} pixels, light and dark: opened")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
