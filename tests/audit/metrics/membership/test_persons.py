"""Scores of people with several records each."""

import numpy as np
import pytest
from scipy.special import ndtr
from sklearn.neighbors import KNeighborsClassifier

from dpassay.attacks.membership import Shadows
from dpassay.attacks.membership.likelihood_ratios import LiRA
from dpassay.audit.games import train_shadows
from dpassay.audit.metrics.membership import evaluate
from dpassay.mechanisms.adapters.estimator import EstimatorLearner
from dpassay.mechanisms.core import ParameterError


def people(rng, shift, *, n_models=32, n_people=200, sizes=4):
    """Signals N(shift * bit, 1) of records whose people are in or out together, and the people."""
    half = rng.random((n_models // 2, n_people)) < 0.5
    bits = np.stack([half, ~half], axis=1).reshape(n_models, n_people)
    index = rng.permutation(np.repeat(np.arange(n_people), sizes))
    inclusion = bits[:, index]
    values = rng.normal(size=inclusion.shape) + shift * inclusion
    return Shadows(inclusion, np.zeros(len(index)), {"loss": values}, partner=np.arange(n_models) ^ 1), index


def test_four_records_of_a_person_have_twice_the_distance():
    shadows, index = people(np.random.default_rng(0), 1.0)
    record, person = evaluate(shadows, "loss")["loss"], evaluate(shadows, "loss", persons=index)["loss"]
    assert record.auc == pytest.approx(ndtr(np.sqrt(1 / 2)), abs=0.02)
    assert person.auc == pytest.approx(ndtr(np.sqrt(4 / 2)), abs=0.02)
    assert person.n_in + person.n_out == 32 * 200


def test_likelihood_ratios_are_added_for_people_of_different_sizes():
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 9, size=200)
    shadows, index = people(rng, 0.7, sizes=sizes)
    attack = LiRA(signal="loss", variance="global")
    scores = attack.score(shadows)
    expected = np.stack([scores[:, index == person].sum(axis=1) for person in range(200)], axis=1)
    from dpassay.audit.metrics.membership.persons import scores_of_persons

    np.testing.assert_allclose(scores_of_persons(scores, index, additive=True), expected)
    found = evaluate(shadows, [attack], persons=index)
    assert found.n_records == 200
    assert len(found.attacks[0].records) == 200
    assert "each person" in found.summary()


def test_people_without_a_leak_are_exposed_no_more_often_than_stated():
    """Records of a person share much: counted as records, they would not be independent."""
    false_alarms = 0
    for seed in range(40):
        rng = np.random.default_rng([2, seed])
        shadows, index = people(rng, 0.0, n_people=60)
        shared = rng.normal(size=(32, 60))[:, index] * 3.0
        same = Shadows(shadows.inclusion, shadows.y, {"loss": shadows.signal("loss") + shared}, partner=shadows.partner)
        found = evaluate(same, ["loss", "calibration"], persons=index)
        false_alarms += any(len(attack.records.exposed()) > 0 for attack in found.attacks)
    assert false_alarms <= 16  # more of 40, at 2 * 5 %, in 1e-6 of the cases


def test_coins_are_tossed_for_people():
    rng = np.random.default_rng(3)
    records, persons = (rng.normal(size=(90, 3)), rng.integers(2, size=90)), np.repeat([f"p{i}" for i in range(30)], 3)
    learner = EstimatorLearner(KNeighborsClassifier(1))
    shadows = train_shadows(learner, records, 8, seed=0, persons=persons)
    first = shadows.inclusion[:, ::3]
    np.testing.assert_array_equal(shadows.inclusion, np.repeat(first, 3, axis=1))
    assert 0.3 < first[::2].mean() < 0.7
    assert not shadows.fair
    assert evaluate(shadows, "correctness-gap", persons=persons).attacks[0].auc > 0.9


def test_unusable_people_are_refused():
    shadows, index = people(np.random.default_rng(4), 0.0, n_people=10)
    with pytest.raises(ParameterError, match="only some of the records of person"):
        evaluate(shadows, "loss", persons=np.roll(index, 1))
    with pytest.raises(ParameterError, match="shape"):
        evaluate(shadows, "loss", persons=index[:5])
    with pytest.raises(ParameterError, match="Give one"):
        evaluate(shadows, "loss", persons=index, groups=index)
    for absent in (np.nan, None):
        with pytest.raises(ParameterError, match="must have a name for each record, but entry 2 is missing"):
            evaluate(shadows, "loss", persons=np.where(np.arange(len(index)) == 2, absent, index))
    data = np.zeros((4, 1)), np.arange(4) % 2
    with pytest.raises(ParameterError, match="entry 3 is missing"):
        train_shadows(EstimatorLearner(KNeighborsClassifier(1)), data, 4, seed=0, persons=[1, 1, 2, None])
    with pytest.raises(ParameterError, match="shape"):
        train_shadows(EstimatorLearner(KNeighborsClassifier(1)), data, 4, seed=0, persons=[1])
