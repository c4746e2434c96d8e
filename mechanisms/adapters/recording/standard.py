"""Primitives of numpy, scipy.stats, random and secrets.

Recorded: the generator passed to a program, generators made by `numpy.random.default_rng`, the functions of
`numpy.random` and of `random`, every `random.Random`, `scipy.stats` distributions, and `secrets`. Not recorded:
instances of `numpy.random.RandomState`, names imported from these modules before the session, and C code.
"""

from __future__ import annotations

import inspect
import math
import random
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial, wraps
from typing import Any

import numpy as np

from .charges import Charge, of_choice, of_coin, of_laplace, of_normal, of_vector
from .noisy import as_plain
from .tape import PrimitiveCall, active_tape, replaced

__tracebackhide__ = True  # pytest shows the lines of the program, not those of this module

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
"""Primitives of numpy, with their arguments by position."""
DEFAULTS = {"loc": 0.0, "scale": 1.0}
SCIPY_NAMES = {"norm": "normal", "gumbel_r": "gumbel"}
"""Distributions with another name in numpy."""
RANDOM_FUNCTIONS = (
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
SECRETS_FUNCTIONS = ("randbelow", "randbits", "token_bytes", "token_hex")


def called(name: str, positional: tuple[Any, ...], named: Mapping[str, Any], source: str, result: Any) -> PrimitiveCall:
    """Return the call of a primitive of numpy, from its arguments and its result."""
    positional = tuple(as_plain(argument) for argument in positional)
    words = [*SIGNATURES.get(name, ()), *(f"argument {i + 1}" for i in range(len(positional)))]
    arguments: dict[str, Any] = dict(zip(words, positional, strict=False)) | {
        key: as_plain(named[key]) for key in named
    }
    fed, charge = None, None
    standard, name = name.startswith("standard_"), name.removeprefix("standard_")
    if name in ("laplace", "normal", "gumbel", "logistic", "cauchy", "randn"):
        name = "normal" if name == "randn" else name
        fed = arguments.pop("loc", DEFAULTS["loc"])
        arguments["scale"] = DEFAULTS["scale"] if standard else arguments.get("scale", DEFAULTS["scale"])
        charge = _additive(name, arguments["scale"])
    elif name == "multivariate_normal":
        fed, charge = arguments.pop("mean"), of_vector(arguments["cov"])
    elif name == "binomial" and np.all(np.asarray(arguments.get("n")) == 1):
        fed, charge = arguments.pop("p"), of_coin(np.shape(result))
    elif name in ("integers", "randint"):
        result = _within(arguments.pop("low", 0), arguments.pop("high", None), result)
    size = arguments.pop("size", None)
    return PrimitiveCall(source, name, {**arguments, "shape": _shape(size, fed, arguments)}, fed, result, None, charge)


def _within(low: Any, high: Any, result: Any) -> Any:
    """Return whole numbers moved into a range that may differ from the recorded one, such as indices of records."""
    start, end = (0, low) if high is None else (low, high)
    with np.errstate(all="ignore"):
        inside = (np.asarray(start) <= result) & (result < np.maximum(end, np.add(start, 1)))
        return result if np.all(inside) else np.where(inside, result, start).astype(np.asarray(result).dtype)[()]


def _shape(size: Any, fed: Any, arguments: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the shape of the requested result."""
    if size is not None:
        return tuple(int(n) for n in np.atleast_1d(as_plain(size)))
    return np.broadcast_shapes(*(np.shape(part) for part in (fed, arguments["scale"]))) if "scale" in arguments else ()


def _additive(name: str, scale: Any) -> Charge | None:
    return of_laplace(scale) if name == "laplace" else of_normal(scale) if name == "normal" else None


def _primitive_result(make: Callable[[Any], PrimitiveCall], draw: Callable[[], Any]) -> Any:
    """Return the result of a primitive according to the active tape; a new one if no tape is active."""
    tape = active_tape()
    return draw() if tape is None else tape.played(make, draw)


def _order(source: str, n: int, draw: Callable[[], Any]) -> Any:
    """Return an order of n objects; on a replay that of the recorded ones, followed by the new ones."""

    def make(result: Any) -> PrimitiveCall:
        known = [int(i) for i in result if i < n]
        return PrimitiveCall(source, "permutation", {}, None, np.array([*known, *range(len(known), n)], dtype=np.intp))

    return _primitive_result(make, draw)


def _places(source: str, n: int, weights: Any, shape: tuple[int, ...], draw: Callable[[], Any]) -> Any:
    """Return indices of chosen objects among n; on a replay the recorded ones."""

    def make(result: Any) -> PrimitiveCall:
        charge = None if weights is None else of_choice(math.prod(shape))
        return PrimitiveCall(
            source, "choice", {"shape": shape}, weights, np.asarray(result)[()] % max(n, 1), None, charge
        )

    return _primitive_result(make, draw)


class RecordingGenerator(np.random.Generator):
    """Generator of numpy whose calls are recorded on the active tape, if there is one."""

    @property
    def _bare(self) -> np.random.Generator:
        """Generator on the same bits that is not recorded."""
        return np.random.Generator(self.bit_generator)


def _method(name: str) -> Callable[..., Any]:
    original = getattr(np.random.Generator, name)

    @wraps(original)
    def recorded(self: RecordingGenerator, *args: Any, **named: Any) -> Any:
        return _primitive_result(partial(called, name, args, named, "numpy"), partial(original, self, *args, **named))

    return recorded


def _choice(
    self: RecordingGenerator,
    a: Any,
    size: Any = None,
    replace: Any = True,
    p: Any = None,
    axis: int = 0,
    shuffle: bool = True,
) -> Any:
    """Return a choice, recorded by index: on a replay the same index is chosen from the other collection."""
    n = int(a) if np.ndim(a) == 0 else np.shape(a)[axis]
    draw = partial(self._bare.choice, n, size, replace, p, shuffle=shuffle)
    places = _places("numpy", n, as_plain(p), _shape(size, None, {}), draw)
    return places if np.ndim(a) == 0 else np.take(a, places, axis=axis)


def _permutation(self: RecordingGenerator, x: Any, axis: int = 0) -> Any:
    n = int(x) if np.ndim(x) == 0 else np.shape(x)[axis]
    order = _order("numpy", n, partial(self._bare.permutation, n))
    return order if np.ndim(x) == 0 else np.take(x, order, axis=axis)


def _shuffle(self: RecordingGenerator, x: Any, axis: int = 0) -> None:
    _shuffled(x, axis, lambda n: _order("numpy", n, partial(self._bare.permutation, n)))


def _permuted(self: RecordingGenerator, x: Any, *, axis: int | None = None, out: Any = None) -> Any:
    """Return an array with each slice along the axis in a separate order."""
    lines = np.asarray(x).reshape(1, -1) if axis is None else np.moveaxis(np.asarray(x), axis, -1)
    flat = lines.reshape(-1, lines.shape[-1])
    mixed = np.array([line[_order("numpy", len(line), partial(self._bare.permutation, len(line)))] for line in flat])
    permuted = mixed.reshape(lines.shape)
    permuted = permuted.reshape(np.shape(x)) if axis is None else np.moveaxis(permuted, -1, axis)
    if out is None:
        return permuted
    out[...] = permuted
    return out


def _shuffled(x: Any, axis: int, order: Callable[[int], Any]) -> None:
    if isinstance(x, np.ndarray):
        x[...] = np.take(x, order(x.shape[axis]), axis=axis)
    else:
        x[:] = [x[i] for i in order(len(x))]


RecordingGenerator.choice = _choice  # type: ignore[method-assign,assignment]
RecordingGenerator.permutation = _permutation  # type: ignore[method-assign,assignment]
RecordingGenerator.permuted = _permuted  # type: ignore[method-assign,assignment]
RecordingGenerator.shuffle = _shuffle  # type: ignore[method-assign,assignment]
for _name in dir(np.random.Generator):
    if not _name.startswith("_") and _name not in {*vars(RecordingGenerator), "bit_generator", "spawn"}:
        setattr(RecordingGenerator, _name, _method(_name))


def substitutions() -> Iterator[AbstractContextManager[None]]:
    """Yield the substitutions that are active while a tape runs."""
    yield replaced(np.random, "default_rng", _default_rng)
    for name in SIGNATURES:
        if name not in ("choice", "permutation") and callable(original := getattr(np.random, name, None)):
            yield replaced(np.random, name, recorded_primitive(original, partial(_numpy, name)))
    yield from _legacy_picks()
    if "scipy.stats" in sys.modules:
        from scipy import stats

        for kind in (stats.rv_continuous, stats.rv_discrete):
            yield replaced(kind, "rvs", recorded_primitive(kind.rvs, _scipy))
    for name in RANDOM_FUNCTIONS:
        yield replaced(
            random.Random, name, recorded_primitive(getattr(random.Random, name), partial(_plain, "random", name, 1))
        )
        yield replaced(random, name, recorded_primitive(getattr(random, name), partial(_plain, "random", name, 0)))
    yield from _plain_picks()
    for name in ("random", "getrandbits", "randbytes"):
        original = getattr(random.SystemRandom, name)
        yield replaced(random.SystemRandom, name, recorded_primitive(original, partial(_plain, "random", name, 1)))
    for name in SECRETS_FUNCTIONS:
        yield replaced(secrets, name, recorded_primitive(getattr(secrets, name), partial(_plain, "secrets", name, 0)))


def _legacy_picks() -> Iterator[AbstractContextManager[None]]:
    """Yield substitutions for orders and choices by the functions of `numpy.random`."""
    permutation, choose = np.random.permutation, np.random.choice

    def order(n: int) -> Any:
        return _order("numpy", n, partial(permutation, n))

    def permuted(x: Any) -> Any:
        return order(int(x)) if np.ndim(x) == 0 else np.take(x, order(len(x)), axis=0)

    def chosen(a: Any, size: Any = None, replace: Any = True, p: Any = None) -> Any:
        n = int(a) if np.ndim(a) == 0 else len(a)
        places = _places("numpy", n, as_plain(p), _shape(size, None, {}), partial(choose, n, size, replace, p))
        return places if np.ndim(a) == 0 else np.take(a, places, axis=0)

    yield replaced(np.random, "permutation", permuted)
    yield replaced(np.random, "shuffle", lambda x: _shuffled(x, 0, order))
    yield replaced(np.random, "choice", chosen)


def _plain_picks() -> Iterator[AbstractContextManager[None]]:
    """Yield substitutions for `shuffle`, `sample` and `choice` of `random`, which record indices."""
    sample = random.Random.sample

    def ordered(self: random.Random, n: int) -> Any:
        return _order("random", n, lambda: sample(self, range(n), n))

    def shuffled(self: random.Random, x: Any) -> None:
        x[:] = [x[i] for i in ordered(self, len(x))]

    def sampled(self: random.Random, population: Any, k: int, *, counts: Any = None) -> Any:
        if counts is not None or k > len(population):
            return sample(self, population, k, counts=counts)
        return [population[i] for i in ordered(self, len(population))[:k]]

    def chosen(self: random.Random, seq: Any) -> Any:
        n = len(seq)
        return seq[int(_places("random", n, None, (), lambda: sample(self, range(n), 1)[0]))]

    module_instance: random.Random = random._inst
    for name, substitute in (("shuffle", shuffled), ("sample", sampled), ("choice", chosen)):
        yield replaced(random.Random, name, substitute)
        yield replaced(random, name, partial(substitute, module_instance))


_fresh_rng = np.random.default_rng


def _default_rng(seed: Any = None) -> np.random.Generator:
    generator = _fresh_rng(seed)
    return generator if isinstance(generator, RecordingGenerator) else RecordingGenerator(generator.bit_generator)


def recorded_primitive(original: Callable[..., Any], make: Callable[..., PrimitiveCall]) -> Callable[..., Any]:
    """Return `original`, recorded on the active tape of this thread; `make(given, named, result)` returns the call."""

    @wraps(original)
    def recorded(*args: Any, **named: Any) -> Any:
        return _primitive_result(partial(make, args, named), partial(original, *args, **named))

    return recorded


def _numpy(name: str, args: tuple[Any, ...], named: Mapping[str, Any], result: Any) -> PrimitiveCall:
    return called(name, args, named, "numpy", result)


def _scipy(args: tuple[Any, ...], named: Mapping[str, Any], result: Any) -> PrimitiveCall:
    """Return the call `distribution.rvs(*shapes, loc, scale, size, random_state)`."""
    distribution, *rest = args
    options = {key: value for key, value in named.items() if key != "random_state"}
    shapes, loc, scale, size = distribution._parse_args_rvs(*rest, **options)
    name = SCIPY_NAMES.get(distribution.name, distribution.name)
    loc, scale, shapes = as_plain(loc), as_plain(scale), tuple(as_plain(shape_parameter) for shape_parameter in shapes)
    parameters = {"shapes": shapes, "scale": scale, "shape": _shape(size, loc, {"scale": scale})}
    return PrimitiveCall("scipy.stats", name, parameters, loc, result, None, _additive(name, scale))


def _plain(
    source: str, name: str, skipped: int, args: tuple[Any, ...], named: Mapping[str, Any], result: Any
) -> PrimitiveCall:
    """Return the call of a function of `random` or `secrets`; the input of a normal value is its location."""
    arguments = args[skipped:]
    if name in ("gauss", "normalvariate"):
        bound = inspect.signature(random.Random.gauss).bind(None, *arguments, **named)
        bound.apply_defaults()
        fed, scale = as_plain(bound.arguments["mu"]), as_plain(bound.arguments["sigma"])
        return PrimitiveCall(source, "normal", {"scale": scale, "shape": ()}, fed, result, None, of_normal(scale))
    parameters = {f"argument {i + 1}": as_plain(value) for i, value in enumerate(arguments)}
    return PrimitiveCall(source, name, {**parameters, **named, "shape": ()}, None, result)
