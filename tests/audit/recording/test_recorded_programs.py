"""Correct programs of many shapes pass the recorder, and wrong ones are named."""

import pytest
from tests.audit.recorded_programs import RIGHT, WRONG

from dpassay.audit import record


@pytest.mark.parametrize(("program", "pair", "claim"), RIGHT)
def test_nothing_is_found_in_a_correct_program(program, pair, claim):
    assert [str(one) for one in record(program, pair).findings(claim)] == []


@pytest.mark.parametrize(("program", "pair", "claim", "kind"), WRONG)
def test_a_wrong_program_is_named(program, pair, claim, kind):
    assert {one.kind for one in record(program, pair).findings(claim)} == {kind}
