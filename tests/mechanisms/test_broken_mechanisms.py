"""The convention of the broken mechanisms: each states its bug, its source and its correct twin."""

import inspect

import pytest
from tests.mechanisms.test_conformance import sample

from dpassay.mechanisms.accounting.broken import Broken
from dpassay.mechanisms.catalogue import catalogue, get
from dpassay.mechanisms.core import ParameterError
from dpassay.mechanisms.literature.statistics.broken.means import DivisorOfData
from dpassay.mechanisms.literature.synthetic_data.catalogue import selections

NAMES = [name for name in catalogue if name.startswith("broken-")]
KINDS = [*map(get, NAMES), *(selections.get(name) for name in selections if name.startswith("broken-"))]
WITHOUT_TWIN = {"broken-resampled", "broken-sparse-vector-two"}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_broken_mechanism_states_its_bug_and_the_source(kind):
    assert issubclass(kind, Broken)
    assert inspect.getdoc(kind).startswith("Broken: ")
    assert kind.cause.endswith(".")
    assert kind.source.endswith(".")
    assert "cause" in vars(kind)
    assert "source" in vars(kind)


@pytest.mark.parametrize("name", NAMES)
def test_twin_has_the_options_of_the_broken_mechanism_and_keeps_its_claim(name):
    broken = sample(name)
    twin = broken.twin()
    assert (twin is None) == (name in WITHOUT_TWIN)
    if twin is None:
        return
    assert twin.relation == broken.relation
    assert not isinstance(twin, Broken) or twin != broken
    exact = twin.exact_guarantee()
    if exact is not None:
        claim = twin.guarantee()
        for delta in (1e-5, 0.01, 0.1):
            assert exact.epsilon(delta) <= claim.epsilon(delta) * (1 + 1e-9) + 1e-12


def test_option_for_the_correct_twin_is_true_or_false():
    with pytest.raises(ParameterError, match="correct must be True or False"):
        DivisorOfData(correct="yes")
