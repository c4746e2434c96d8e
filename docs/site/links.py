"""Links of the site: a link in a source becomes a link in its page, and each one leads to something that exists.

`rewritten` turns the links of a source, which lead from file to file of the repository, into links of the site.
`problems` reads the finished pages, and compares them with the links that a Markdown parser finds in the sources.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html.parser import HTMLParser
from os.path import normpath, relpath
from pathlib import Path
from urllib.parse import unquote

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
MARKDOWN = MarkdownIt("commonmark").enable("table")
CODE = r"^ *(`{3,})[^\n]*\n.*?^ *\1 *$|(`+)(?!`).*?(?<!`)\2(?!`)"
LINK = re.compile(rf"{CODE}|(?<!!)\[(?P<text>[^\]]*)\]\((?P<file>[^()\s#:]+)(?P<anchor>#[^()\s]*)?\)", re.M | re.S)
ELSEWHERE = re.compile(r"\w+:|//")


def rewritten(text: str, page: str, source: Path, places: Mapping[Path, str], files: dict[str, Path]) -> str:
    """Return the text of a page, whose links lead to pages and files of the site.

    Args:
        text: Markdown.
        page: path of the page in the site.
        source: file that the links of the text start from.
        places: file of the repository -> path of its page.
        files: other files that are linked to are added here: path in the site -> file.

    Raises:
        ValueError: if a link leads to nothing.
    """

    def there(link: re.Match[str]) -> str:
        if link["text"] is None:  # code
            return link[0]
        target = Path(normpath(source.parent / link["file"]))
        if target not in places:
            if not target.is_file():
                raise ValueError(f"{source}: a link to {link['file']}, which is neither a page nor a file")
            files[copy(target)] = target
            return f'<a href="{relpath(copy(target), Path(page).parent)}">{link["text"]}</a>'
        return f"[{link['text']}]({relpath(places[target], Path(page).parent)}{link['anchor'] or ''})"

    return LINK.sub(there, text)


def copy(file: Path) -> str:
    """Return where in the site a file of the repository is shown as text."""
    return f"files/{relpath(file, ROOT)}.txt"


def links(text: str) -> Iterator[str]:
    """Return the targets of the links of a text in Markdown."""
    for block in MARKDOWN.parse(text):
        for token in block.children or ():
            if token.type == "link_open":
                yield str(token.attrs["href"])


@dataclass
class Page(HTMLParser):
    """Links and anchors of a page in HTML."""

    text: str = field(repr=False)

    def __post_init__(self) -> None:
        super().__init__()
        self.hrefs: list[str] = []
        self.anchors: set[str] = set()
        self.feed(self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Read a tag."""
        found = dict(attrs)
        self.anchors |= {name for name in (found.get("id"), found.get("name")) if name}
        if tag == "a" and found.get("href"):
            self.hrefs.append(str(found["href"]))


@dataclass
class Site:
    """The pages of a folder.

    Args:
        folder: the site.
    """

    folder: Path

    @cached_property
    def pages(self) -> dict[str, Page]:
        """Path of a page -> the page."""
        found = sorted(self.folder.rglob("*.html"))
        return {path.relative_to(self.folder).as_posix(): Page(path.read_text()) for path in found}

    def goes_to(self, page: str, href: str) -> tuple[str, str]:
        """Return path and anchor of the target of a link; the path is the link itself for one to another site."""
        if ELSEWHERE.match(href):
            return href, ""
        path, _, anchor = href.partition("#")
        return normpath(Path(page).parent / unquote(path)) if path else page, unquote(anchor)

    def is_there(self, path: str, anchor: str) -> bool:
        """Whether a target exists."""
        if ELSEWHERE.match(path):
            return True
        if path not in self.pages:
            return not anchor and (self.folder / path).is_file()
        return not anchor or anchor in self.pages[path].anchors


def problems(folder: Path, sources: Mapping[str, tuple[Path, str]], places: Mapping[Path, str]) -> list[str]:
    """Return the links of sources that are no links in the pages, and the links of pages that lead to nothing.

    Args:
        folder: the site.
        sources: path of a page, such as "how-to/ci.md" -> the file that its links start from, and its text.
        places: file of the repository -> path of its page.
    """
    site, found = Site(folder), []
    for name, page in site.pages.items():
        lost = [href for href in dict.fromkeys(page.hrefs) if not site.is_there(*site.goes_to(name, href))]
        found += [f"{name}: a link to {href}, which does not exist" for href in lost]
    for name, (source, text) in sources.items():
        name = f"{name.removesuffix('.md')}.html"
        if name not in site.pages:
            found.append(f"{name}: no such page")
            continue
        wanted = Counter(_goal(site, name, href, source, places) for href in links(text))
        shown = Counter(site.goes_to(name, href)[0] for href in site.pages[name].hrefs)
        found += [f"{name}: the link to {goal} of {source.name} is no link in the page" for goal in wanted - shown]
    return found


def _goal(site: Site, page: str, href: str, source: Path, places: Mapping[Path, str]) -> str:
    """Return the path in the site, or the address elsewhere, that a link of a source leads to."""
    path = href.partition("#")[0]
    if ELSEWHERE.match(href) or not path:
        return site.goes_to(page, href)[0]
    target = Path(normpath(source.parent / unquote(path)))
    place = places.get(target, copy(target))
    return f"{place.removesuffix('.md')}.html" if place.endswith(".md") else place
