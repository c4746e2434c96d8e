"""What a function keeps beside it is no reason to doubt its runs, unless it is noise."""

import pytest
from tests.audit import ordinary_functions as ordinary

from dpassay.audit import audit
from dpassay.mechanisms import Neighbours, PureDP

pytestmark = pytest.mark.usefixtures("without_power", "few_chunks")

PAIR = Neighbours([0.1, 0.3], [0.1, 0.3, 1.3], "add_remove")
QUICK = (
    "with_a_histogram",
    "with_a_table",
    "with_a_generator_of_python",
    "with_a_log",
    "many_runs",
    "without_noise",
    "rounded",
    "in_a_closure",
)


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in ordinary.FUNCTIONS],
)
@pytest.mark.parametrize("broken", [True, False], ids=["broken", "right"])
def test_functions_that_keep_something_have_the_right_verdict(name, broken):
    function = ordinary.make(name, broken=broken)
    result = audit(function, PAIR, claim=PureDP(1.0), trials=2_000, seed=0, confidence=1 - 1e-6)
    assert (result.verdict.value, result.dependence) == ("violation" if broken else "consistent", None)
