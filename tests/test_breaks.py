"""The breaks of `breaks.toml` still apply, and the harness that tries them can tell what is seen from what is not."""

import ast
import re
from functools import cache

import pytest
from tests.run_breaks import BEGIN, END, ROOT, Break, applied, copied, examined, main, read, table, written

BREAKS = read()


@cache
def text_of(file):
    return (ROOT / file).read_text()


@cache
def shape(text):
    return ast.dump(ast.parse(text))


def test_breaks_change_one_place_and_leave_code_that_can_be_read():
    breaks = [(one.id, text_of(one.file), applied(one, text_of(one.file))) for one in BREAKS]
    assert [name for name, whole, broken in breaks if ast.dump(ast.parse(broken)) == shape(whole)] == []


def test_tests_of_breaks_are_there():
    assert [one.id for one in BREAKS if not one.tests] == []
    missing = []
    for test in {test for one in BREAKS for test in one.tests}:
        file, _, name = test.partition("[")[0].partition("::")
        if not re.search(rf"^def {re.escape(name)}\(", text_of(file), flags=re.MULTILINE):
            missing.append(test)
    assert missing == []


def test_breaks_have_names_of_their_own_and_are_all_in_the_table():
    ids = [one.id for one in BREAKS]
    assert len(set(ids)) == len(ids)
    page = (ROOT / "tests" / "README.md").read_text()
    listed = page.split(BEGIN)[1].split(END)[0].strip().splitlines()[2:]
    assert [line.split(" | ")[0].removeprefix("| ") for line in listed] == ids, "fix with: make breaks"
    assert "not seen" not in "".join(listed)


# --- the harness, on a small room of its own -------------------------------------------------------------------------

CODE = "LEVEL = 0.05\n\n\ndef half():\n    return LEVEL / 2\n"
TEST = "from dpassay.audit.level import half\n\n\ndef test_half():\n    assert half() == 0.025\n"


@pytest.fixture
def small(tmp_path):
    files = {"audit/__init__.py": "", "audit/level.py": CODE, "tests/test_level.py": TEST}
    files |= {"src/dpassay/__init__.py": "", "src/dpassay/pytest_plugin.py": ""}  # a plugin, which pytest loads
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "src" / "dpassay" / "audit").symlink_to("../../audit")
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\nmarkers = ['slow: long']\n")
    return tmp_path


@pytest.mark.parametrize(
    ("find", "replace", "seen", "what"),
    [
        ("LEVEL / 2", "LEVEL", True, "test_half"),
        ("LEVEL / 2", "0.5 * LEVEL", False, "no test fails"),
        ("return LEVEL / 2", "raise ValueError", False, "test_half fails by ValueError, and not by an assertion"),
        ("def half", "def third", False, "pytest failed"),
        ("LEVEL = 0.05", "LEVEL = ", False, "pytest failed"),
    ],
    ids=["wrong", "harmless", "raises", "not importable", "no code"],
)
def test_a_break_is_seen_only_where_an_assertion_fails(small, find, replace, seen, what):
    one = Break("a", "audit/level.py", "", find, replace, ("tests/test_level.py",))
    with copied(small) as copy:
        result = examined(one, copy)
        assert (copy / one.file).read_text() == CODE
    assert result[0] == seen
    assert result[1].startswith(what)
    assert not copy.exists()


def test_a_break_that_is_not_imported_is_not_seen(small):
    (small / "audit" / "other.py").write_text(CODE)
    (small / "tests" / "test_level.py").write_text("def test_nothing():\n    assert False\n")
    one = Break("a", "audit/other.py", "", "LEVEL / 2", "LEVEL", ("tests/test_level.py",))
    with copied(small) as copy:
        assert examined(one, copy) == (False, "the tests imported None, which is not broken")


def test_a_text_that_occurs_twice_or_never_is_refused():
    for find, times in (("LEVEL", 2), ("SIZE", 0)):
        with pytest.raises(ValueError, match=f"'{find}' occurs {times} times in audit/level.py, and not once"):
            applied(Break("a", "audit/level.py", "", find, "", ()), CODE)


def test_the_table_stands_between_its_markers_and_names_what_was_not_seen():
    breaks = [Break(name, "audit/level.py", "no half", "", "", ()) for name in ("a", "b")]
    text = table(breaks, {"a": (True, "test_half"), "b": (False, "no test fails")})
    assert text.splitlines()[2:] == [
        "| a | `audit/level.py` | no half | `test_half` |",
        "| b | `audit/level.py` | no half | **not seen**: no test fails |",
    ]
    again = table(breaks, {"b": (True, "test_quarter")}, text)
    assert again.splitlines()[2:] == [text.splitlines()[2], "| b | `audit/level.py` | no half | `test_quarter` |"]
    page = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    assert written(page, "new") == f"before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"


def test_an_unknown_break_is_named(capsys):
    with pytest.raises(SystemExit):
        main(["--only", "no-such-break"])
    assert "no such break: no-such-break" in capsys.readouterr().err
