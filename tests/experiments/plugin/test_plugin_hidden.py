"""A test cannot hide what its privacy checks found, nor audited code skip its test."""

import pytest
from plugin_project import Project

TESTS = """
import contextlib
import pytest
from dpassay.mechanisms.core.errors import PrivacyViolation

CLAIM = dict(epsilon=0.1, d0=[1, 0], d1=[1, 0, 1], relation="add_remove", trials=300, attack="threshold")


def leak(dataset, rng):
    return sum(dataset) + rng.laplace(scale=0.01)

def skips(dataset, rng):
    if len(dataset) == 3:
        pytest.skip("not today")
    return leak(dataset, rng)

def skips_all(dataset, size, rng):
    pytest.skip("not today")


def test_failed_skip_on_one_side(dp_audit):
    dp_audit(skips, **CLAIM)

def test_failed_skip_of_all_runs(dp_audit):
    dp_audit(skips_all, **CLAIM)

def test_failed_swallowed_violation(dp_audit):
    with contextlib.suppress(AssertionError):
        dp_audit(leak, **CLAIM)

def test_failed_swallowed_error(dp_audit):
    with contextlib.suppress(Exception):
        dp_audit(skips_all, **CLAIM)

def test_failed_swallowed_and_skipped(dp_audit):
    with contextlib.suppress(AssertionError):
        dp_audit(leak, **CLAIM)
    pytest.skip("too hard")

def test_failed_one_expected_one_swallowed(dp_audit):
    with pytest.raises(PrivacyViolation):
        dp_audit(leak, **CLAIM)
    with contextlib.suppress(AssertionError):
        dp_audit(leak, **CLAIM)

def test_passed_expected(dp_audit):
    with pytest.raises(PrivacyViolation):
        dp_audit(leak, **CLAIM)

def test_passed_expected_by_its_function(dp_audit):
    pytest.raises(AssertionError, dp_audit, leak, **CLAIM)

@pytest.mark.xfail(raises=PrivacyViolation, strict=True)
def test_xfailed_known_leak(dp_audit):
    dp_audit(leak, **CLAIM)

def test_skipped_by_itself(dp_audit):
    pytest.skip("no data here")
"""


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    return Project(tmp_path_factory.mktemp("hidden")).write(test_it=TESTS).run("-rA", "-v", "-p", "no:randomly")


def test_every_test_ends_as_its_name_says(session):
    lines = [line.split()[:2] for line in session.output.splitlines() if line.startswith("test_it.py::")]
    words = ("PASSED", "FAILED", "SKIPPED", "XFAIL")
    ended = {name.partition("::test_")[2]: word.lower() for name, word in lines if word in words}
    assert len(ended) == 10, session.output
    assert {name: word for name, word in ended.items() if not name.startswith(word)} == {}
    assert session.code == 1


def test_a_swallowed_error_is_named_with_the_way_out(session):
    assert "caught an exception of dp_audit, so nothing was checked" in session.output
    assert "Do not catch it, or use pytest.raises." in session.output
