"""The primitives of numpy, scipy.stats, random and secrets.

What is seen: the generator that a program is given, those that it makes by `numpy.random.default_rng`, the functions of
`numpy.random` and of `random`, every `random.Random`, `scipy.stats` distributions, and `secrets`. What is not: a
`numpy.random.RandomState` of its own, names that were imported from these modules one by one before, and C code.
"""

from __future__ import annotations

import inspect
import random
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial, wraps
from typing import Any

import numpy as np

from .charges import Charge, of_choice, of_laplace, of_normal
from .tape import Call, current, replaced

SIGNATURES: dict[str, tuple[str, ...]] = {
    "laplace": ("loc", "scale", "size"),
    "normal": ("loc", "scale", "size"),
    "gumbel": ("loc", "scale", "size"),
    "logistic": ("loc", "scale", "size"),
    "exponential": ("scale", "size"),
    "standard_normal": ("size",),
    "standard_exponential": ("size",),
    "standard_cauchy": ("size",),
    "standard_t": ("df", "size"),
    "standard_gamma": ("shape", "size"),
    "gamma": ("shape", "scale", "size"),
    "beta": ("a", "b", "size"),
    "uniform": ("low", "high", "size"),
    "random": ("size",),
    "integers": ("low", "high", "size"),
    "geometric": ("p", "size"),
    "poisson": ("lam", "size"),
    "binomial": ("n", "p", "size"),
    "choice": ("a", "size", "replace", "p"),
    "permutation": ("x",),
    "multivariate_normal": ("mean", "cov", "size"),
    "bytes": ("length",),
    # only among the functions of numpy.random
    "randn": (),
    "rand": (),
    "randint": ("low", "high", "size"),
    "random_sample": ("size",),
}
"""Primitives of numpy, and their arguments by position."""
DEFAULTS = {"loc": 0.0, "scale": 1.0}
SCIPY = {"norm": "normal", "gumbel_r": "gumbel"}
"""Distributions that numpy calls by another name."""
OF_RANDOM = (
    "random",
    "uniform",
    "gauss",
    "normalvariate",
    "lognormvariate",
    "expovariate",
    "gammavariate",
    "betavariate",
    "triangular",
    "randint",
    "randrange",
    "getrandbits",
    "randbytes",
)
OF_SECRETS = ("randbelow", "randbits", "token_bytes", "token_hex")


def called(name: str, given: tuple[Any, ...], named: Mapping[str, Any], source: str, result: Any) -> Call:
    """The call of a primitive of numpy, from its arguments and its result."""
    arguments: dict[str, Any] = dict(zip(SIGNATURES.get(name, ()), given, strict=False)) | dict(named)
    fed, charge = None, None
    standard, name = name.startswith("standard_"), name.removeprefix("standard_")
    if name in ("laplace", "normal", "gumbel", "logistic", "cauchy", "randn"):
        name = "normal" if name == "randn" else name
        fed = arguments.pop("loc", DEFAULTS["loc"])
        arguments["scale"] = DEFAULTS["scale"] if standard else arguments.get("scale", DEFAULTS["scale"])
        charge = _additive(name, arguments["scale"])
    elif name == "choice":
        fed = arguments.pop("p", None)
        charge = None if fed is None else of_choice()
    size = arguments.pop("size", None)
    return Call(source, name, {**arguments, "shape": _shape(size, fed, arguments)}, fed, result, None, charge)


def _shape(size: Any, fed: Any, arguments: Mapping[str, Any]) -> tuple[int, ...]:
    """Of what is asked for."""
    if size is not None:
        return tuple(int(n) for n in np.atleast_1d(size))
    return np.broadcast_shapes(*(np.shape(part) for part in (fed, arguments["scale"]))) if "scale" in arguments else ()


def _additive(name: str, scale: Any) -> Charge | None:
    return of_laplace(scale) if name == "laplace" else of_normal(scale) if name == "normal" else None


class RecordingGenerator(np.random.Generator):
    """A generator of numpy whose calls are recorded on the tape that runs, if one runs."""


def _method(name: str) -> Callable[..., Any]:
    original = getattr(np.random.Generator, name)

    @wraps(original)
    def recorded(self: RecordingGenerator, *given: Any, **named: Any) -> Any:
        tape, draw = current(), partial(original, self, *given, **named)
        return draw() if tape is None else tape.played(partial(called, name, given, named, "numpy"), draw)

    return recorded


for _name in SIGNATURES:
    if hasattr(np.random.Generator, _name):
        setattr(RecordingGenerator, _name, _method(_name))

_choose, _permute = RecordingGenerator.choice, RecordingGenerator.permutation


def _choice(
    self: RecordingGenerator, a: Any, size: Any = None, replace: Any = True, p: Any = None, **named: Any
) -> Any:
    """What is chosen from a collection is recorded as its place: on a replay it is chosen from the other collection."""
    if np.ndim(a) == 0 or named:
        return _choose(self, a, size, replace, p, **named)
    return np.asarray(a)[_choose(self, len(a), size, replace, p)]


def _permutation(self: RecordingGenerator, x: Any, axis: int = 0) -> Any:
    return _permute(self, x) if np.ndim(x) == 0 else np.take(x, _permute(self, np.shape(x)[axis]), axis=axis)


def _shuffle(self: RecordingGenerator, x: Any, axis: int = 0) -> None:
    x[:] = [x[i] for i in _permute(self, len(x))] if isinstance(x, list) else _permutation(self, x, axis)


RecordingGenerator.choice = _choice  # type: ignore[method-assign,assignment]
RecordingGenerator.permutation = _permutation  # type: ignore[method-assign,assignment]
RecordingGenerator.shuffle = _shuffle  # type: ignore[method-assign,assignment]


def places() -> Iterator[AbstractContextManager[None]]:
    """Where substitutes are put while a tape runs."""
    yield replaced(np.random, "default_rng", _default_rng)
    for name in SIGNATURES:
        if name not in ("choice", "permutation") and callable(original := getattr(np.random, name, None)):
            yield replaced(np.random, name, recorded_as(original, partial(_numpy, name)))
    if "scipy.stats" in sys.modules:
        from scipy import stats

        for kind in (stats.rv_continuous, stats.rv_discrete):
            yield replaced(kind, "rvs", recorded_as(kind.rvs, _scipy))
    for name in OF_RANDOM:
        yield replaced(
            random.Random, name, recorded_as(getattr(random.Random, name), partial(_plain, "random", name, 1))
        )
        yield replaced(random, name, recorded_as(getattr(random, name), partial(_plain, "random", name, 0)))
    for name in ("random", "getrandbits", "randbytes"):
        original = getattr(random.SystemRandom, name)
        yield replaced(random.SystemRandom, name, recorded_as(original, partial(_plain, "random", name, 1)))
    for name in OF_SECRETS:
        yield replaced(secrets, name, recorded_as(getattr(secrets, name), partial(_plain, "secrets", name, 0)))


_fresh_rng = np.random.default_rng


def _default_rng(seed: Any = None) -> np.random.Generator:
    made = _fresh_rng(seed)
    return made if isinstance(made, RecordingGenerator) else RecordingGenerator(made.bit_generator)


def recorded_as(original: Callable[..., Any], make: Callable[..., Call]) -> Callable[..., Any]:
    """`original`, recorded on the tape that runs in this thread; `make(given, named, result)` makes the call."""

    @wraps(original)
    def recorded(*given: Any, **named: Any) -> Any:
        tape, draw = current(), partial(original, *given, **named)
        return draw() if tape is None else tape.played(partial(make, given, named), draw)

    return recorded


def _numpy(name: str, given: tuple[Any, ...], named: Mapping[str, Any], result: Any) -> Call:
    return called(name, given, named, "numpy", result)


def _scipy(given: tuple[Any, ...], named: Mapping[str, Any], result: Any) -> Call:
    """`distribution.rvs(*shapes, loc, scale, size, random_state)`."""
    distribution, *rest = given
    options = {key: value for key, value in named.items() if key != "random_state"}
    shapes, loc, scale, size = distribution._parse_args_rvs(*rest, **options)
    name = SCIPY.get(distribution.name, distribution.name)
    parameters = {"shapes": tuple(shapes), "scale": scale, "shape": _shape(size, loc, {"scale": scale})}
    return Call("scipy.stats", name, parameters, loc, result, None, _additive(name, scale))


def _plain(source: str, name: str, skipped: int, given: tuple[Any, ...], named: Mapping[str, Any], result: Any) -> Call:
    """A function of `random` or `secrets`; the location of a normal value is what is fed."""
    arguments = given[skipped:]
    if name in ("gauss", "normalvariate"):
        bound = inspect.signature(random.Random.gauss).bind(None, *arguments, **named)
        bound.apply_defaults()
        fed, scale = bound.arguments["mu"], bound.arguments["sigma"]
        return Call(source, "normal", {"scale": scale, "shape": ()}, fed, result, None, of_normal(scale))
    shown = {f"argument {i + 1}": value for i, value in enumerate(arguments)}
    return Call(source, name, {**shown, **named, "shape": ()}, None, result)
