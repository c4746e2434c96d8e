"""TOML as text: keys are found on their lines, and what is written reads back the same."""

import tomllib

import pytest
from hypothesis import given, strategies as st

from dpassay.experiments.config.toml_lines import locate
from dpassay.experiments.config.toml_text import to_toml

TEXT = '''title = "a"
description = """
[audit]
trials = 1
"""
# trials = 2
[audit]
trials = 10   # "quoted
bounds = [
  "betting",
]
[mechanism]
query = { name = "count", above = 1 }
base.name = "x"
[sweep]
"mechanism.epsilon" = [1]
'mechanism.delta, claim.delta' = [2]
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("title",), 1),
        (("audit",), 7),
        (("audit", "trials"), 8),
        (("audit", "delta"), 7),
        (("mechanism", "query", "name"), 13),
        (("mechanism", "base", "name"), 14),
        (("sweep", "mechanism.epsilon"), 16),
        (("sweep", "mechanism.delta, claim.delta"), 17),
        (("claim", "name"), None),
    ],
)
def test_a_key_is_found_on_its_line_or_on_that_of_the_table_around_it(path, line):
    assert locate(TEXT, path) == line


@pytest.mark.parametrize("quotes", ['"""', "'''"])
def test_what_stands_inside_a_long_string_is_not_a_key(quotes):
    assert locate(f"a = {quotes}\nb = 1\n{quotes}\nb = 2\n", ("b",)) == 4
    assert locate(f"a = {quotes}x{quotes}\nb = 2\n", ("b",)) == 2


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
scalars = st.one_of(
    words,
    st.booleans(),
    st.integers(min_value=-(2**63), max_value=2**63 - 1),
    st.floats(allow_nan=False),
)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3))


@given(st.dictionaries(words, values, max_size=4))
def test_what_is_written_reads_back_as_it_was(table):
    back = tomllib.loads(to_toml(table))
    assert back == table
    assert repr(sorted(map(str, back.items()))) == repr(sorted(map(str, table.items())))


def test_a_text_of_several_lines_is_written_over_several_lines():
    assert to_toml({"description": "one\ntwo"}) == 'description = """\none\ntwo"""\n'


def test_none_is_left_out_and_other_things_are_refused():
    assert to_toml({"a": None, "b": {"c": None}}) == "[b]\n"
    with pytest.raises(TypeError, match="cannot be written to a configuration"):
        to_toml({"a": object()})
