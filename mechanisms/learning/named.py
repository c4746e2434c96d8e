"""Models and samplings by name, with plain numbers as options: how a configuration file writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mechanisms.errors import ParameterError, missing_message
from mechanisms.learning.catalogue import samplings
from mechanisms.learning.models.base import Model
from mechanisms.learning.models.catalogue import catalogue as models
from mechanisms.learning.sampling import Sampling
from mechanisms.validation import one_of, positive

MODEL_OPTIONS = ("n_features", "n_classes", "hidden", "activation")
SAMPLING_OPTIONS = ("batch_size", "sampling_probability", "n_records")

NEEDED: dict[str, tuple[str, ...]] = {
    "poisson": ("batch_size", "sampling_probability"),
    "fixed-size": ("batch_size",),
    "shuffled": ("batch_size",),
    "cyclic": ("batch_size",),
    "full-batch": (),
}
"""Options that each sampling cannot do without."""
ALLOWED = NEEDED | dict.fromkeys(("fixed-size", "shuffled", "cyclic"), ("batch_size", "n_records"))
ALLOWED["full-batch"] = ("batch_size",)
EXPECTED = ("poisson", "full-batch")
"""Samplings whose batch size is only the expected one."""


def build_model(model: Model | str, options: Mapping[str, Any]) -> Model:
    """`model` itself, or the one of that name with `options`.

    Raises:
        ParameterError: options beside a model that is not a name; options missing, or that it lacks.
    """
    if isinstance(model, Model):
        _refuse(options, "model", model)
        return model
    if not isinstance(model, str):
        raise ParameterError(
            f"model must be a Model or its name ({', '.join(models)}), but is {model!r}.", argument="model"
        )
    named = dict(options)
    if model == "multilayer-perceptron" and "n_classes" in named:
        named["n_outputs"] = named.pop("n_classes")
    built: Model = models.build(model, **named)
    return built


def build_sampling(sampling: Sampling | str, options: Mapping[str, Any]) -> Sampling:
    """`sampling` itself, or the one of that name with `options`.

    Raises:
        ParameterError: options for a sampling that is not a name; options missing, or that it lacks.
    """
    if isinstance(sampling, Sampling):
        _refuse(options, "sampling", sampling)
        return sampling
    one_of(samplings.entries, sampling=sampling)
    if missing := [name for name in NEEDED[sampling] if name not in options]:
        raise ParameterError(
            f"{missing_message(f'sampling {sampling!r}', NEEDED[sampling], missing)}: public constants, never computed "
            "from the number of records in the data.",
            argument=(*missing, "sampling"),
        )
    if wrong := [name for name in options if name not in ALLOWED[sampling]]:
        raise ParameterError(
            f"{wrong[0]} is not for sampling {sampling!r}, which takes {' and '.join(ALLOWED[sampling])}. Leave it "
            "out.",
            argument=(*wrong, "sampling"),
        )
    named = dict(options)
    if sampling in EXPECTED and "batch_size" in named:
        positive(batch_size=named["batch_size"])
        named["expected_batch_size"] = named.pop("batch_size")
    built: Sampling = samplings.build(sampling, **named)
    return built


def _refuse(options: Mapping[str, Any], what: str, given: Any) -> None:
    if options:
        raise ParameterError(
            f"{what} is {given!r}, not a name: give its options to itself, and leave out {', '.join(options)}.",
            argument=what,
        )
