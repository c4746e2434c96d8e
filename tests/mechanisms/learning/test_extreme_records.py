"""Trainers on records whose squares overflow, or vanish: legal data, on which every run must end like any other.

An output that is not finite, or an exception, would show the record with certainty, whatever the noise.
"""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from dpassay.mechanisms.core import Neighbours, ParameterError
from dpassay.mechanisms.learning.base import TrainingData
from dpassay.mechanisms.learning.dp_sgd.fine_tuning import FineTuning
from dpassay.mechanisms.learning.dp_sgd.mechanism import DPSGD
from dpassay.mechanisms.learning.dp_sgd.sampling.full_batch import FullBatch
from dpassay.mechanisms.learning.models import LinearRegression, LogisticRegression, MultiLayerPerceptron
from dpassay.mechanisms.literature.convex import NoisyProjectedSGD, ObjectivePerturbation, OutputPerturbation
from dpassay.mechanisms.literature.federated import FederatedAveraging, LocalNoiseAveraging
from dpassay.mechanisms.literature.federated.broken import (
    NoiseOfMeanOnSum,
    PerRecordClipping,
    RealisedClients,
    SensitivityNotOfClip,
)
from dpassay.mechanisms.literature.pate import PATE, GNMax
from dpassay.mechanisms.literature.pate.teachers import EstimatorTeachers

N, D, SIZE = 6, 4, 60
RECORDS = {
    "largest": np.full(D, 1e308),
    "smallest": np.full(D, -1e308),
    "both": np.array([1e308, -1e308, 0.0, 1.0]),
    "square": np.full(D, 1e160),
    "subnormal": np.full(D, 5e-324),
}
EXAMPLES = np.random.default_rng(0).normal(size=(N, D))
LABELS = np.arange(N) % 2


def dp_sgd(model=None, **options):
    full = FullBatch(expected_batch_size=N)
    options = {"steps": 3, "noise_multiplier": 1.0, "sampling": full, "view": "trajectory"} | options
    return DPSGD(LogisticRegression(D) if model is None else model, **options)


def pate(teachers):
    return PATE(GNMax(2.0, n_teachers=2, n_classes=2, n_queries=3), queries=EXAMPLES[:3], teachers=teachers)


ON_EXAMPLES = {
    "dp-sgd": dp_sgd(),
    "dp-sgd-perceptron": dp_sgd(MultiLayerPerceptron(D, hidden=(3,))),
    "dp-sgd-regression": dp_sgd(LinearRegression(D)),
    "dp-sgd-per-layer": dp_sgd(MultiLayerPerceptron(D, hidden=(3,)), clipping="per-layer"),
    "dp-sgd-relu-single": dp_sgd(MultiLayerPerceptron(D, hidden=(3,), activation="relu"), dtype="float32"),
    "dp-sgd-observed": dp_sgd(view="noisy_gradients", sampling="poisson", sampling_probability=0.5, batch_size=3),
    "dp-sgd-final": dp_sgd(view="final", momentum=0.9),
    "fine-tuning": FineTuning(),
    **{
        f"projected-sgd-{loss}": NoisyProjectedSGD(1.0, n_records=N, loss=loss)
        for loss in ("linear", "logistic", "squared")
    },
    "pate-nearest": pate("nearest"),
    "pate-kernel": pate("kernel"),
    "pate-trees": pate(EstimatorTeachers(DecisionTreeClassifier(random_state=0))),
}
"""By name, on `(X, y)`."""
COMMON = {"noise_multiplier": 1.0, "rounds": 2, "local_steps": 2}
ON_CLIENTS = {
    "averaging": FederatedAveraging(LogisticRegression(D), **COMMON),
    "averaging-regression": FederatedAveraging(LinearRegression(D), **COMMON),
    "averaging-perceptron": FederatedAveraging(MultiLayerPerceptron(D, hidden=(3,)), **COMMON),
    "local-noise": LocalNoiseAveraging(LogisticRegression(D), **COMMON),
    "local-noise-regression": LocalNoiseAveraging(LinearRegression(D), **COMMON),
    "broken-realised-clients": RealisedClients(LogisticRegression(D), **COMMON),
    "broken-per-record-clipping": PerRecordClipping(LogisticRegression(D), **COMMON | {"local_steps": 1}),
    "broken-sensitivity-not-of-clip": SensitivityNotOfClip(LogisticRegression(D), **COMMON),
    "broken-noise-of-mean": NoiseOfMeanOnSum(LogisticRegression(D), **COMMON),
}


def released(mechanism, dataset):
    outputs = mechanism.release(dataset, SIZE, np.random.default_rng(1))
    assert outputs.events is None
    assert np.isfinite(outputs.values).all()
    return outputs


def check(mechanism, dataset, other):
    """The outputs are ordinary, and no density finds them impossible."""
    outputs, law = released(mechanism, dataset), mechanism.output_law()
    if law is not None:
        assert np.isfinite(law.log_density(outputs, dataset)).all()
        assert np.isfinite(law.log_density(outputs, other)).all()


@pytest.mark.parametrize("record", RECORDS)
@pytest.mark.parametrize("name", ON_EXAMPLES)
def test_an_extreme_record_leaves_the_outputs_of_a_trainer_ordinary(name, record):
    X = EXAMPLES.copy()
    X[2] = RECORDS[record]
    check(ON_EXAMPLES[name], (X, LABELS), (EXAMPLES, LABELS))


@pytest.mark.parametrize("target", [1e308, -1e308, 1e160, 5e-324])
def test_an_extreme_target_of_a_regression_leaves_the_outputs_ordinary(target):
    y = LABELS.astype(np.float64)
    y[2] = target
    for dtype in ("float64", "float32"):
        check(dp_sgd(LinearRegression(D), dtype=dtype), (EXAMPLES, y), (EXAMPLES, LABELS))
    for name in ("averaging-regression", "local-noise-regression"):
        check(ON_CLIENTS[name], [(EXAMPLES, y)], [(EXAMPLES, LABELS)])


@pytest.mark.parametrize("record", RECORDS)
@pytest.mark.parametrize("name", ON_CLIENTS)
def test_an_extreme_client_leaves_the_outputs_of_a_federation_ordinary(name, record):
    X = EXAMPLES.copy()
    X[2] = RECORDS[record]
    mechanism = ON_CLIENTS[name]
    others = [(EXAMPLES[:3], LABELS[:3]), (EXAMPLES[3:], LABELS[3:])]
    check(mechanism, [*others, (X, LABELS)], [*others, (EXAMPLES, LABELS)])
    update = np.full(mechanism.network.n_parameters, RECORDS[record][0])
    check(mechanism, [*others, update], [*others, 0.0 * update])


@pytest.mark.parametrize("clipping", ["flat", "per-layer"])
@pytest.mark.parametrize("value", [1e308, -1e308, 1e160, 5e-324])
def test_an_extreme_gradient_record_leaves_the_outputs_ordinary(value, clipping):
    mechanism = dp_sgd(clipping=clipping)
    gradients = np.full((1, D + 1), value)
    check(mechanism, TrainingData(EXAMPLES, LABELS, gradients), TrainingData(EXAMPLES, LABELS))


@pytest.mark.parametrize("kind", [OutputPerturbation, ObjectivePerturbation])
@pytest.mark.parametrize("record", ["largest", "smallest", "both", "square"])
def test_rows_of_norm_above_one_are_refused_on_either_side(kind, record):
    mechanism, X = kind(1.0), 0.1 * EXAMPLES
    far = X.copy()
    far[2] = RECORDS[record]
    for d0, d1 in (((X, LABELS), (far, LABELS)), ((far, LABELS), (X, LABELS))):
        with pytest.raises(ParameterError, match="norm at most 1"):
            mechanism.bind(Neighbours(d0, d1, "replace_one"))
    near = X.copy()
    near[2] = RECORDS["subnormal"]
    check(mechanism, (near, LABELS), (X, LABELS))


def test_an_update_that_overflows_counts_as_zeros():
    clients = [(np.full((2, D), 1e308), np.array([0, 1]))]
    for name in ("averaging", "local-noise"):
        mechanism = ON_CLIENTS[name]
        assert not mechanism.client_updates(clients, mechanism.start[None]).any()
