"""Untrusted text: nothing in it reaches a terminal, a spreadsheet, a page or a drawing as a command."""

import csv
import io
import re

import pytest
from hypothesis import given, strategies as st

from dpassay.mechanisms.core import csv_cell, fenced, html, line, markdown, terminal

anything = st.text(st.characters(), max_size=40)
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


@given(anything)
def test_no_medium_gets_what_is_not_seen(text):
    for clean in (terminal, line, markdown, fenced, html):
        shown = clean(text)
        assert not UNSEEN.search(shown)
        shown.encode()
    assert "\n" not in line(text) + markdown(text)


@given(anything)
def test_cleaning_twice_changes_nothing_more(text):
    for clean in (terminal, line, html):
        assert clean(clean(text)) == clean(text)


@given(st.text(st.characters(whitelist_categories=["L", "N", "P", "S", "Zs"]), max_size=40))
def test_ordinary_text_stays_as_it_is(text):
    assert terminal(text) == line(text) == html(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;title\x07\x1b[2J", "\\x1b]0;title\\x07\\x1b[2J"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\x9b31m", "\\x9b31m"),
        ("a\rb", "a\\rb"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
        ("naïve ε ≥ 1 🙂", "naïve ε ≥ 1 🙂"),
    ],
)
def test_what_is_not_seen_is_shown(text, shown):
    assert terminal(text) == line(text) == html(text) == shown


@pytest.mark.parametrize(
    "text", ["=1+1", "+x", "-x", "@SUM(A1)", " =1", "\t=1", "\r=1", "\uff1d1", "-1+cmd|' /C calc'!A0"]
)
def test_no_cell_is_a_formula(text):
    assert csv_cell(text) == f"'{line(text)}"


@pytest.mark.parametrize("value", [-1.5, -3, 0, None, True, "-1.5", "+2e-5", "-inf", "a=b", "1-2", ""])
def test_numbers_and_other_text_stay(value):
    assert csv_cell(value) is value


@given(st.lists(anything, min_size=1, max_size=4))
def test_cells_read_back_as_they_were_shown(texts):
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerow(map(csv_cell, texts))
    assert next(csv.reader(io.StringIO(file.getvalue()))) == [csv_cell(text) for text in texts]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a|b", "a\\|b"),
        ("# a", "\\# a"),
        ("- a", "\\- a"),
        ("1. a", "1\\. a"),
        ("<img src=x>", "&lt;img src=x&gt;"),
        ("&lt;", "&amp;lt;"),
        ("[a](http://b)", "\\[a\\](http://b)"),
        ("a\n\n# b", "a \\# b"),
        ("epsilon = 0.5, 1.5", "epsilon = 0.5, 1.5"),
        ("-1.5", "-1.5"),
    ],
)
def test_markdown_shows_the_text_as_it_is(text, shown):
    assert markdown(text) == shown


@given(st.text("`~\nab", max_size=30))
def test_no_text_ends_its_code_block(text):
    fence, *body = fenced(text).split("\n")
    assert body[-1] == fence.removesuffix("text")
    assert "\n".join(body[:-1]) == text
    assert not any(row.strip().startswith(body[-1]) for row in body[:-1])
