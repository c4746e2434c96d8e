"""Models, samplings, noises, schedules and optimisers by name: add a new one as one class and one line here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from ...core import Catalogue, ParameterError, missing_message, one_of, positive
from ..models.base import Model
from .noise.base import StepNoise
from .sampling.base import Sampling

models = Catalogue(
    "model",
    "dpassay.mechanisms.learning.models",
    {
        "linear-regression": "architectures:LinearRegression",
        "logistic-regression": "architectures:LogisticRegression",
        "softmax-regression": "architectures:SoftmaxRegression",
        "multilayer-perceptron": "architectures:MultiLayerPerceptron",
    },
)
samplings = Catalogue(
    "sampling",
    "dpassay.mechanisms.learning.dp_sgd.sampling",
    {
        "poisson": "poisson:PoissonSampling",
        "random-allocation": "random_allocation:RandomAllocation",
        "cyclic-poisson": "cyclic_poisson:CyclicPoisson",
        "truncated-poisson": "truncated_poisson:TruncatedPoisson",
        "fixed-size": "fixed_size:FixedSizeSampling",
        "shuffled": "epochs:ShuffledEpochs",
        "cyclic": "epochs:CyclicBatches",
        "full-batch": "full_batch:FullBatch",
    },
)
noises = Catalogue(
    "noise",
    "dpassay.mechanisms.learning.dp_sgd.noise",
    {
        "independent": "base:IndependentNoise",
        "tree": "tree:TreeNoise",
        "banded": "banded:BandedNoise",
        "buffered-toeplitz": "buffered_toeplitz:BufferedToeplitzNoise",
    },
)
schedules = Catalogue(
    "schedule",
    "dpassay.mechanisms.learning.dp_sgd",
    {
        "constant": "steps:ConstantSchedule",
        "inverse-square-root": "steps:InverseSquareRoot",
        "step-decay": "steps:StepDecay",
        "cosine": "steps:Cosine",
    },
)
optimizers = Catalogue("optimizer", "dpassay.mechanisms.learning.dp_sgd", {"adam": "optimizers:Adam"})

MODEL_OPTIONS = ("n_features", "n_classes", "hidden", "activation")
SAMPLING_OPTIONS = (
    *("batch_size", "sampling_probability", "n_records"),
    *("batches_per_epoch", "participations", "largest_batch"),
)


def build_model(model: Model | str, options: Mapping[str, Any]) -> Model:
    """Return `model`, or build the model of that name with `options`.

    Raises:
        ParameterError: options together with a model that is not a name; a missing or unknown option.
    """
    if isinstance(model, Model):
        _refuse(options, "model", model)
        return model
    if not isinstance(model, str):
        raise ParameterError(argument="model", value=model, allowed=f"be a Model or its name ({', '.join(models)})")
    named = dict(options)
    if model == "multilayer-perceptron" and "n_classes" in named:
        named["n_outputs"] = named.pop("n_classes")
    built: Model = models.build(model, **named)
    return built


def build_noise(noise: StepNoise | str) -> StepNoise:
    """Return `noise`, or build the noise of that name with its default options.

    Raises:
        ParameterError: neither; a name whose options have no default.
    """
    if isinstance(noise, StepNoise):
        return noise
    if not isinstance(noise, str):
        raise ParameterError(
            f"noise must be a StepNoise or its name ({', '.join(noises)}), but is {noise!r}. Its standard deviation "
            "is set by noise_multiplier.",
            argument="noise",
        )
    one_of(noises.entries, noise=noise)
    built: StepNoise = noises.build(noise)
    return built


def build_sampling(sampling: Sampling | str, options: Mapping[str, Any]) -> Sampling:
    """Return `sampling`, or build the sampling of that name with `options`.

    Raises:
        ParameterError: options together with a sampling that is not a name; a missing or unknown option.
    """
    if isinstance(sampling, Sampling):
        _refuse(options, "sampling", sampling)
        return sampling
    one_of(samplings.entries, sampling=sampling)
    scheme = samplings.get(sampling)
    known = {scheme.option_names.get(field.name, field.name): field for field in fields(scheme)}
    needed = sorted(name for name, field in known.items() if field.default is MISSING)
    if missing := [name for name in needed if name not in options]:
        raise ParameterError(
            f"{missing_message(f'sampling {sampling!r}', needed, missing)}: public constants, never computed from the "
            "number of records in the data.",
            argument=(*missing, "sampling"),
        )
    if wrong := [name for name in options if name not in known]:
        raise ParameterError(
            f"{wrong[0]} is not for sampling {sampling!r}, which takes {' and '.join(sorted(known))}. Leave it out.",
            argument=(*wrong, "sampling"),
        )
    positive(**{name: options[name] for name in scheme.option_names.values() if name in options})
    built: Sampling = samplings.build(sampling, **{known[name].name: value for name, value in options.items()})
    return built


def _refuse(options: Mapping[str, Any], argument: str, value: Any) -> None:
    if options:
        raise ParameterError(
            f"{argument} is {value!r}, not a name: set its options on that object, and leave out {', '.join(options)}.",
            argument=(argument, *options),
        )
