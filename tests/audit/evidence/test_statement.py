"""The checks of a statement, which the API, scores and configurations share."""

import tomllib

import pytest

from dpassay.audit import audit
from dpassay.audit.evidence.statement import Statement
from dpassay.experiments.config.schema import Config
from dpassay.experiments.config.source import Source
from dpassay.experiments.config.tasks.planning import plan_tasks
from dpassay.mechanisms import Gaussian, Laplace
from dpassay.mechanisms.accounting import ApproximateDP, GaussianDP, PureDP
from dpassay.mechanisms.core import AccountingError, ConfigError, ParameterError, Relation, RelationError

CALIBRATED = """\
[mechanism]
name = "gaussian"
epsilon = 1.0
delta = 1e-5
[audit]
trials = 60
"""


def about(mechanism=None, claim=None, *, delta=None, confidence=0.95, **options):
    return Statement.about(mechanism, claim, delta=delta, confidence=confidence, **options)


def planned(text):
    source = Source("made", "made.toml", text, {})
    return plan_tasks(Config.check(tomllib.loads(text), source), source)


def test_a_calibrated_mechanism_is_audited_at_its_delta():
    (task,) = planned(CALIBRATED)
    configured = task.answer(task.run())
    called = audit(Gaussian(epsilon=1.0, delta=1e-5), trials=60, confidence=0.9999, seed=task.seed)
    assert configured.delta == called.delta == 1e-5
    assert configured == called


def test_a_claim_is_tested_at_its_own_delta():
    assert about(Gaussian(epsilon=1.0, delta=1e-5)).delta == 1e-5
    assert about(Gaussian(epsilon=1.0, delta=1e-5), ApproximateDP(1.0, 1e-3)).delta == 1e-3
    assert about(Laplace(1.0)).delta == 0.0
    assert about(Laplace(1.0), delta=0.1).delta == 0.1


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({}, ParameterError, "claim must be given if there are only scores"),
        ({"claim": 1.0}, ParameterError, r"claim must be a guarantee, such as PureDP\(1\.0\), but is 1\.0"),
        ({"claim": GaussianDP(1.0)}, ParameterError, "delta must be given: the claim GaussianDP"),
        ({"claim": GaussianDP(1.0), "delta": 0.0}, AccountingError, "delta is 0, where the claim .* is infinite"),
        ({"claim": PureDP(1.0), "confidence": 1 - 1e-12}, ParameterError, "confidence must be at most 1 - 1e-11"),
        (
            {"claim": PureDP(1.0, relation="zero_out"), "relation": Relation.ADD_REMOVE},
            RelationError,
            "holds for relation 'zero_out', the evidence is of 'add_remove'",
        ),
    ],
)
def test_what_cannot_be_stated_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        about(**given)


def test_what_cannot_be_stated_is_refused_at_its_place_in_a_configuration():
    with pytest.raises(ConfigError, match=r"made.toml:4: \[audit\] delta must be given: the claim GaussianDP"):
        planned(CALIBRATED.replace("epsilon = 1.0\ndelta = 1e-5", "noise_multiplier = 2.0"))


def test_bounds_share_the_significance():
    stated = about(claim=PureDP(1.0), confidence=0.9, n_hypotheses=4)
    assert stated.shared(2).significance == pytest.approx(0.05)
    assert stated.shared(2 * stated.n_hypotheses, significance_share=0.5).significance == pytest.approx(0.1 * 0.5 / 8)
