"""Settings of Sphinx. The pages are those that build.py stages in docs/_build/pages."""

import re
from typing import Any

project = "dpassay"
copyright = "the authors of dpassay, Apache-2.0"  # noqa: A001 - the name that Sphinx reads
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_design"]

html_theme = "furo"
html_title = "dpassay"
html_static_path = ["../_build/static"]
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"})]
html_show_sphinx = False
smartquotes = False  # options begin with two hyphens
html_copy_source = False
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
suppress_warnings = ["myst.header", "misc.highlighting_failure", "ref.python"]  # a method that several classes have

default_role = "py:obj"  # a name in single backticks is a link where it is public, else code
nitpick_ignore_regex = [("py:.*", ".*")]  # types of other libraries, and names that are not public
toc_object_entries = False  # else each page copies thousands of entries; pages of the reference begin with their names
autodoc_member_order = "bysource"
autodoc_inherit_docstrings = False  # an override without a docstring is described where it is inherited from
autodoc_typehints_format = "short"
maximum_signature_line_length = 88
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_custom_sections = ["Guarantees"]

_CODE = re.compile(r"(`+)(.+?)\1", re.DOTALL)
_TABLE = re.compile(r"^ *\S.*\S {3,}\S", re.MULTILINE)
"""A line with columns."""


def plain(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Escape what reStructuredText reads as markup and docstrings use as text: stars, bars, names with a final _.

    Tables that are drawn with spaces become literal blocks.
    """
    paragraphs = ["\n".join(group) for group in _paragraphs(lines)]
    lines[:] = "\n\n".join(map(_paragraph, paragraphs)).split("\n")


def _paragraph(text: str) -> str:
    prose, example = re.match(r"(.*?)( *>>>.*|)\Z", text, re.DOTALL).groups()  # type: ignore[union-attr]
    return _table(prose) if _TABLE.search(prose) and not example else _prose(prose) + example


def _paragraphs(lines: list[str]) -> list[list[str]]:
    groups: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            groups[-1].append(line)
        elif groups[-1]:
            groups.append([])
    return [group for group in groups if group]


def _table(paragraph: str) -> str:
    margin = re.match(r" *", paragraph)[0]  # type: ignore[index]
    return f"{margin}::\n\n" + re.sub(r"^", "    ", paragraph, flags=re.MULTILINE)


def _prose(paragraph: str) -> str:
    parts, start = [], 0
    for code in _CODE.finditer(paragraph):
        parts += [_escaped(paragraph[start : code.start()]), _code(code), "\\ " * paragraph[code.end() :][:1].isalnum()]
        start = code.end()
    return "".join([*parts, _escaped(paragraph[start:])])


def _escaped(text: str) -> str:
    return re.sub(r"(?<!^)(?<!\n)(?<!    )\*|\||(?<=\w)_(?!\w)", r"\\\g<0>", text)


def _code(code: re.Match[str]) -> str:
    """Return the name of a class as it is, which the default role links, and other code as a literal."""
    one_name = re.fullmatch(r"(\w+\.)*[A-Z]\w*", code[2])
    return code[0] if one_name and len(code[1]) == 1 else f"``{' '.join(code[2].split())}``"


def setup(app: Any) -> None:
    """Run before napoleon, which is connected with the default priority."""
    app.connect("autodoc-process-docstring", plain, priority=400)
