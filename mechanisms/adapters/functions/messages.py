"""Messages between this process and one that runs audited code: plain data only, so that reading them runs no code.

    write(pipe, nonce, value)    send a value
    read(pipe, nonce)            receive one, or raise `MessageError`

A value is None, a boolean, a number of Python or numpy, text, bytes, a numeric array, a generator of numpy with its
seed sequence, `RaisedException`, `ReadResult`, or a list, tuple or dict of these. It arrives as the same types. Each
message begins with the nonce of its process, its length and a checksum: they find accidents, such as audited code that
writes to all descriptors, and no intention.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Callable, Sequence
from typing import IO, Any

import numpy as np

from .forms import OutputRow, RaisedException, ReadResult, UnusualForm

MAX_MESSAGE_BYTES = 2**31
"""Largest length of a message."""
MAX_DEPTH = 50
"""Largest depth of lists in lists."""
NONCE_BYTES = 16
_HEADER = struct.Struct(">16sQI")
_NUMBER_KINDS = "biufcSU"
_MIN_TOGETHER = 4
"""Smallest number of values of one type that are sent as one array."""


class MessageError(Exception):
    """Bytes that are no message, such as those that audited code wrote."""


class EndedError(MessageError):
    """The end of the messages: the process has ended, or closed them."""


def write(pipe: IO[bytes], nonce: bytes, value: Any) -> None:
    """Send a value; raise `MessageError` if it is not plain, before anything is sent."""
    content = to_bytes(value)
    if len(content) > MAX_MESSAGE_BYTES:
        raise MessageError(f"a message of {len(content)} bytes is too long")
    pipe.write(_HEADER.pack(nonce, len(content), zlib.crc32(content)))
    pipe.write(content)
    pipe.flush()


def read(pipe: IO[bytes], nonce: bytes) -> Any:
    """Receive a value.

    Raises:
        MessageError: the bytes are no message with this nonce.
    """
    sender, length, checksum = _HEADER.unpack(_exactly(pipe, _HEADER.size))
    if sender != nonce or length > MAX_MESSAGE_BYTES:
        raise MessageError("bytes that are no message")
    content = _exactly(pipe, length)
    if zlib.crc32(content) != checksum:
        raise MessageError("a message that was changed")
    return from_bytes(content)


def to_bytes(value: Any) -> bytearray:
    """Return a value as bytes; raise `MessageError` if it is not plain."""
    content = bytearray()
    _encode(value, content, 0)
    return content


def from_bytes(content: bytes) -> Any:
    """Return the value of `to_bytes`; raise `MessageError` for other bytes."""
    try:
        reader = _Reader(content)
        value = reader.value(0)
    except MessageError:
        raise
    except Exception as error:
        raise MessageError(f"a message that cannot be read ({type(error).__name__})") from error
    if reader.at != len(content):
        raise MessageError("a message with more than a value")
    return value


def nonce_of(pipe: IO[bytes]) -> bytes:
    """Return the nonce that begins a stream of messages."""
    return _exactly(pipe, NONCE_BYTES)


def _exactly(pipe: IO[bytes], size: int) -> bytes:
    parts, missing = [], size
    while missing:
        part = pipe.read(min(missing, 2**20))  # what does not arrive takes no memory
        if not part:
            raise EndedError("the end of the messages")
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def _encode(value: Any, out: bytearray, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise MessageError("lists are nested too deeply")
    kind = type(value)
    if kind in _WRITERS:
        _WRITERS[kind](value, out)
    elif kind is np.ndarray and value.dtype.kind in _NUMBER_KINDS:
        _bytes(b"a", _array(value), out)
    elif issubclass(kind, np.generic) and value.dtype.kind in _NUMBER_KINDS:
        _bytes(b"g", _array(np.asarray(value)), out)
    elif kind is np.random.Generator:
        out += b"Z"
        _encode(_parts(value), out, depth + 1)
    elif kind is RaisedException:
        out += b"R"
        _encode((value.error, value.message), out, depth + 1)
    elif kind is ReadResult:
        out += b"Q"
        _encode(_packed([value]), out, depth + 1)
    elif kind is dict:
        out += b"d" + _size(len(value))
        for key, item in value.items():
            _encode(key, out, depth + 1)
            _encode(item, out, depth + 1)
    elif kind in (list, tuple):
        if kind is list and len(value) >= _MIN_TOGETHER and _together(value, out, depth):
            return
        out += (b"l" if kind is list else b"t") + _size(len(value))
        for item in value:
            _encode(item, out, depth + 1)
    else:
        raise MessageError(f"a {kind.__name__} is no plain data")


def _together(values: list[Any], out: bytearray, depth: int) -> bool:
    """Write values of one type as one array; return False if they have several, or no such type."""
    kinds = set(map(type, values))
    if len(kinds) != 1:
        return False
    (kind,) = kinds
    if kind in (float, bool) or (kind is int and all(-(2**63) <= value < 2**63 for value in values)):
        tag, array = b"P", np.array(values, dtype=np.int64 if kind is int else kind)
    elif issubclass(kind, (np.number, np.bool_)):
        tag, array = b"G", np.array(values)
        if array.dtype != values[0].dtype or array.dtype.kind not in "biufc":
            return False
    elif kind is np.ndarray and values[0].dtype.kind in "biufc":
        if len({(value.shape, value.dtype) for value in values}) != 1:
            return False
        tag, array = b"A", np.stack(values)
        if array.dtype != values[0].dtype:  # of another byte order
            return False
    elif kind is ReadResult:
        out += b"W"
        _encode(_packed(values), out, depth + 1)
        return True
    else:
        return False
    _bytes(tag, _array(array), out)
    return True


def _size(n: int) -> bytes:
    return n.to_bytes(8, "big")


def _bytes(tag: bytes, content: bytes, out: bytearray) -> None:
    out += tag + _size(len(content))
    out += content


def _array(array: np.ndarray[Any, Any]) -> bytes:
    header = f"{array.dtype.str} {' '.join(map(str, array.shape))}".encode()
    return len(header).to_bytes(4, "big") + header + np.ascontiguousarray(array).tobytes()


_WRITERS: dict[type, Callable[[Any, bytearray], None]] = {
    type(None): lambda value, out: out.extend(b"N"),
    bool: lambda value, out: out.extend(b"T" if value else b"F"),
    int: lambda value, out: _bytes(b"i", hex(value).encode(), out),
    float: lambda value, out: out.extend(b"f" + struct.pack(">d", value)),
    complex: lambda value, out: out.extend(b"c" + struct.pack(">dd", value.real, value.imag)),
    str: lambda value, out: _bytes(b"s", value.encode("utf-8", "surrogatepass"), out),
    bytes: lambda value, out: _bytes(b"b", value, out),
}


class _Reader:
    """Values of a message, from left to right."""

    def __init__(self, content: bytes) -> None:
        self.content, self.at = content, 0

    def value(self, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise MessageError("lists are nested too deeply")
        tag = self.take(1)
        if tag in _CONSTANTS:
            return _CONSTANTS[tag]
        if tag == b"f":
            return struct.unpack(">d", self.take(8))[0]
        if tag == b"c":
            return complex(*struct.unpack(">dd", self.take(16)))
        if tag in b"RQWZ":
            content = self.value(depth + 1)
            if tag == b"Z":
                return _generator(*content)
            if tag == b"R":
                return RaisedException(*map(_text, content))
            results = _unpacked(content)
            return results if tag == b"W" else results[0]
        size = int.from_bytes(self.take(8), "big")
        if tag in b"ltd":
            if size > len(self.content) - self.at:  # each value takes a byte at least
                raise MessageError("a list that is longer than its message")
            if tag == b"d":
                return {self.value(depth + 1): self.value(depth + 1) for _ in range(size)}
            items = [self.value(depth + 1) for _ in range(size)]
            return items if tag == b"l" else tuple(items)
        return _DECODERS[tag](self.take(size))

    def take(self, size: int) -> bytes:
        part = self.content[self.at : self.at + size]
        if len(part) != size:
            raise MessageError("a message that ends too early")
        self.at += size
        return part


def _text(value: Any) -> str:
    if type(value) is not str:
        raise MessageError("something else than a text")
    return value


def _read_array(content: bytes) -> np.ndarray[Any, Any]:
    end = 4 + int.from_bytes(content[:4], "big")
    name, *shape = content[4:end].decode("ascii").split()
    dtype = np.dtype(name)
    if dtype.kind not in _NUMBER_KINDS:
        raise MessageError("an array of something else than numbers and texts")
    sizes = [int(n) for n in shape]
    if min(sizes, default=0) < 0 or math.prod(sizes) * dtype.itemsize != len(content) - end:
        raise MessageError("an array of another size")
    if dtype.itemsize == 0:
        return np.zeros(sizes, dtype)
    return np.frombuffer(content, dtype, offset=end).reshape(sizes).copy()


_BIT_GENERATORS = {
    kind.__name__: kind
    for kind in (np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64)
}


def _parts(rng: np.random.Generator) -> tuple[Any, ...]:
    """Return the state of a generator, and the seed sequence from which it spawns others."""
    state: Any = rng.bit_generator.state
    seeds: Any = rng.bit_generator.seed_seq
    entropy = (
        seeds.entropy if seeds.entropy is None or isinstance(seeds.entropy, int) else list(map(int, seeds.entropy))
    )
    return state, entropy, list(map(int, seeds.spawn_key)), int(seeds.pool_size), int(seeds.n_children_spawned)


def _generator(state: Any, entropy: Any, key: Any, pool_size: int, n_spawned: int) -> np.random.Generator:
    seeds = np.random.SeedSequence(entropy, spawn_key=key, pool_size=pool_size, n_children_spawned=n_spawned)
    bits = _BIT_GENERATORS[state["bit_generator"]](seeds)
    bits.state = state
    return np.random.Generator(bits)


_CONSTANTS = {b"N": None, b"T": True, b"F": False}
_DECODERS: dict[bytes, Callable[[bytes], Any]] = {
    b"i": lambda content: int(content, 16),
    b"s": lambda content: content.decode("utf-8", "surrogatepass"),
    b"b": bytes,
    b"a": _read_array,
    b"g": lambda content: _read_array(content)[()],
    b"P": lambda content: _read_array(content).tolist(),
    b"G": lambda content: list(_read_array(content)),
    b"A": lambda content: list(_read_array(content)),
}


def _packed(results: Sequence[ReadResult]) -> list[Any]:
    """Return read results as a table of their forms and the numbers of all."""
    forms: dict[Any, int] = {}
    places, numbers, marks, extra = [], [], [], []
    for index, result in enumerate(results):
        outcome = result.outcome
        if isinstance(outcome, UnusualForm):
            form: tuple[Any, ...] = (outcome.label, outcome.mark)
        else:
            form = (outcome.label, outcome.shape, outcome.kind)
            numbers.append(outcome.numbers)
            marks.append(outcome.marks)
            if outcome.names:
                extra.append((index, list(outcome.names.items())))
        places.append(forms.setdefault(form, len(forms)))
    nothing = np.empty(0)
    joined = [np.concatenate([nothing, *parts]) for parts in (numbers, marks)]
    joined[1] = joined[1] if joined[1].any() else nothing
    names = [result.names for result in results] if any(result.names for result in results) else []
    return [list(forms), np.array(places, dtype=np.int64), *joined, extra, names]


def _unpacked(content: Any) -> list[ReadResult]:
    """Return read results of `_packed`, checked."""
    forms, places, numbers, marks, extra, all_names = content
    named = {int(index): {int(place): _text(text) for place, text in items} for index, items in extra}
    if numbers.dtype != np.float64 or marks.dtype != np.float64 or not np.isfinite(numbers).all():
        raise MessageError("numbers of another type")
    if not marks.size:
        marks = np.zeros(len(numbers))
    if marks.shape != numbers.shape or numbers.ndim != 1 or (places.size and places.min() < 0):
        raise MessageError("rows of another shape")
    results, at = [], 0
    for index, place in enumerate(places.tolist()):
        form = forms[place]
        if len(form) == 2:
            outcome: OutputRow | UnusualForm = UnusualForm(_text(form[0]), float(form[1]))
        else:
            label, shape, kind = form
            size = math.prod(shape)
            if min(shape, default=0) < 0 or at + size > len(numbers):
                raise MessageError("rows of another shape")
            row = slice(at, at + size)
            outcome = OutputRow(
                _text(label), tuple(shape), numbers[row], marks[row], named.get(index, {}), tuple(map(_text, kind))
            )
            at += size
        names = tuple((_text(part), _text(rest)) for part, rest in all_names[index]) if all_names else ()
        results.append(ReadResult(outcome, names))
    if at != len(numbers):
        raise MessageError("more numbers than rows")
    return results
