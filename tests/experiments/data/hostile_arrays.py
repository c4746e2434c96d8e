"""Files that claim to hold scores, and are damaged or built to harm their reader.

`crafted()` gives one file for each known trick, `mutated(n, seed)` gives damaged copies of intact ones.
"""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np

HONEST = {"score": np.arange(40.0), "side": np.arange(40) % 2}


def npz(arrays: dict[str, Any], save: Any = np.savez) -> bytes:
    content = io.BytesIO()
    save(content, **arrays)
    return content.getvalue()


def member(array: Any) -> bytes:
    content = io.BytesIO()
    np.save(content, array, allow_pickle=True)
    return content.getvalue()


def headed(header: str | bytes, data: bytes = b"\0" * 320, version: tuple[int, int] = (1, 0)) -> bytes:
    """An array with any text as its header."""
    text = header if isinstance(header, bytes) else header.encode("latin-1")
    return b"\x93NUMPY" + bytes(version) + struct.pack("<H" if version == (1, 0) else "<I", len(text)) + text + data


def plain(descr: str = "'<f8'", shape: str = "(40,)", order: str = "False", data: bytes = b"\0" * 320) -> bytes:
    return headed(f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n", data)


def archive(score: bytes, *, method: int = zipfile.ZIP_STORED, name: str = "score.npy") -> bytes:
    """An archive with an honest `side` and any bytes as `score`."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as files:
        files.writestr(name, score)
        files.writestr("side.npy", member(HONEST["side"]))
    return content.getvalue()


def patched(content: bytes, *, local: int, central: int, value: bytes) -> bytes:
    """Overwrites a field in each local header and each entry of the central directory."""
    result = bytearray(content)
    for mark, offset in ((b"PK\3\4", local), (b"PK\1\2", central)):
        at = result.find(mark)
        while at >= 0:
            result[at + offset : at + offset + len(value)] = value
            at = result.find(mark, at + 4)
    return bytes(result)


class Called:
    """A pickle that calls `print`."""

    def __reduce__(self) -> tuple[Any, ...]:
        return print, ("unpickled",)


def twice() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as files:
        for name in ("score.npy", "side.npy", "xcore.npy"):
            files.writestr(name, member(HONEST["side"]))
    return content.getvalue().replace(b"xcore", b"score")


def crafted() -> Iterator[tuple[str, bytes]]:
    """Name with its ending, and content."""
    honest = HONEST["side"]
    structured = np.zeros(40, dtype=[("a", "f8"), ("b", "i4")])
    dtypes = {
        "complex": np.arange(40) * 1j,
        "structured": structured,
        "subarray": np.zeros(40, dtype=[("a", "f8", (3,))]),
        "void": np.zeros(40, dtype="V8"),
        "bytes": np.array([b"x"] * 40),
        "text": np.array(["x"] * 40),
        "date": np.zeros(40, dtype="M8[s]"),
        "duration": np.zeros(40, dtype="m8[s]"),
        "objects": np.array([Called()] * 40, dtype=object),
        "two-dimensional": np.zeros((40, 2)),
        "scalar": np.array(3.0),
        "empty": np.empty(0),
        "nan": np.full(40, np.nan),
        "infinite": np.full(40, np.inf),
        "float16": np.arange(40, dtype=np.float16),
        "float128": np.arange(40, dtype=np.longdouble),
        "big-endian": np.arange(40, dtype=">f8"),
        "big-endian-int": np.arange(40, dtype=">i2"),
        "big-endian-side": np.arange(40, dtype=">f2"),
        "uint64": np.full(40, 2**64 - 1, dtype=np.uint64),
        "bool": honest > 0,
    }
    for name, values in dtypes.items():
        yield f"{name}.npz", npz({"score": values, "side": honest})
        for column in ("side", "bit", "success", "run", "canary"):
            yield f"{column}-{name}.npz", npz(HONEST | {"bit": honest} | {column: values})
    headers = {
        "7-tib": plain(shape=f"({2**40},)"),
        "2^70": plain(shape=f"({2**70},)"),
        "2^5000": plain(shape=f"({'9' * 1500},)"),
        "product": plain(shape=f"({2**35}, {2**35})"),
        "zero-product": plain(shape=f"(0, {2**70})", data=b""),
        "negative": plain(shape="(-1,)"),
        "negative-twice": plain(shape="(-40, -1)"),
        "true-size": plain(shape="(True,)"),
        "float-size": plain(shape="(40.0,)"),
        "many-sizes": plain(shape=f"({'1, ' * 100})"),
        "no-tuple": plain(shape="40"),
        "short": plain(data=b"\0" * 100),
        "long": plain(data=b"\0" * 1000),
        "no-data": plain(data=b""),
        "no-dtype": plain(descr="'no'"),
        "void-0": plain(descr="'V0'", shape=f"({2**60},)", data=b""),
        "text-0": plain(descr="'<U0'", shape=f"({2**40},)", data=b""),
        "object": plain(descr="'|O'"),
        "object-0": plain(descr="'|O'", shape="(0,)", data=b""),
        "pickle": plain(descr="'|O'", data=pickle.dumps([Called()] * 40)),
        "subarray-huge": plain(descr=f"('<f8', ({2**30}, {2**30}))"),
        "descr-list": plain(descr="[('a', '<f8'), ('a', '<f8')]"),
        "descr-deep": plain(descr="[" * 200 + "]" * 200),
        "descr-none": plain(descr="None"),
        "descr-int": plain(descr="7"),
        "order-text": plain(order="'yes'"),
        "bool-2": plain(descr="'|b1'", data=b"\2" * 40),
        "no-keys": headed("{}\n"),
        "more-keys": headed("{'descr': '<f8', 'fortran_order': False, 'shape': (40,), 'more': 1}\n"),
        "syntax": headed("{'descr': <f8\n"),
        "call": headed("__import__('os').system('true')\n"),
        "nested": headed("(" * 5_000 + ")" * 5_000),
        "minus": headed("-" * 9_000 + "1"),
        "sum": headed("1" + "+1" * 5_000),
        "long-header": headed(" " * 60_000),
        "nul": headed("{'descr': '<f8'\0}\n"),
        "latin": headed(bytes(range(128, 256))),
        "python2": headed("{'descr': '<f8', 'fortran_order': False, 'shape': (40L,), }\n"),
        "python2-tokens": headed("{'descr': '<f8', 'fortran_order': False, 'shape': (40L,), '\n"),
        "version-2": headed("{'descr': '<f8', 'fortran_order': False, 'shape': (40,), }\n", version=(2, 0)),
        "version-3": headed("{'descr': '<f8', 'fortran_order': False, 'shape': (40,), }\n", version=(3, 0)),
        "version-9": headed("{'descr': '<f8', 'fortran_order': False, 'shape': (40,), }\n", version=(9, 9)),
        "huge-header": b"\x93NUMPY\2\0" + struct.pack("<I", 2**32 - 1) + b"{}",
        "only-magic": b"\x93NUMPY",
        "nothing": b"",
        "pickled": pickle.dumps(Called()),
        "text-file": b"hello",
    }
    for name, content in headers.items():
        yield f"{name}.npz", archive(content)
    yield "not-an-array.npz", archive(b"hello", name="score.txt")
    yield "no-ending.npz", archive(b"hello", name="score")
    yield "leading-up.npz", archive(member(honest), name="../../score.npy")
    yield "two-of-one-name.npz", twice()
    yield "bomb.npz", archive(plain(data=b"\0" * 40_000_000, shape="(5000000,)"), method=zipfile.ZIP_DEFLATED)
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        yield f"method-{method}.npz", archive(member(honest), method=method)
    whole = npz(HONEST)
    for method in (1, 6, 9, 12, 14, 93, 95, 97, 99, 65_535):
        yield f"claimed-method-{method}.npz", patched(whole, local=8, central=10, value=struct.pack("<H", method))
    for flags in (1, 0x20, 0x41, 0x2000, 0x800, 0xFFFF):
        yield f"flags-{flags}.npz", patched(whole, local=6, central=8, value=struct.pack("<H", flags))
    for offset, what in ((20, "packed"), (24, "size"), (42, "place"), (16, "crc"), (28, "name"), (30, "extra")):
        for value in (0, 1, 2**31, 2**32 - 1):
            content = patched(whole, local=10**9, central=offset, value=struct.pack("<I", value))
            yield f"{what}-{value}.npz", content[: len(whole)]
    yield "honest.npz", whole
    yield "deflated.npz", npz(HONEST, np.savez_compressed)
    yield "constant.npz", npz({"score": np.zeros(50_000), "side": np.arange(50_000) % 2}, np.savez_compressed)
    yield "array.npz", member(honest)
    yield "pickle.npz", pickle.dumps([Called()])
    yield "empty.npz", b""
    yield "archive-of-nothing.npz", b"PK\5\6" + b"\0" * 18
    tables = {
        "complex": "score,side\n1+2j,0\n2j,1\n",
        "nul": "score,side\n\0,0\n1,1\n",
        "bytes": b"score,side\n\xff\xfe,0\n1,1\n",
        "utf-16": "score,side\n1,0\n".encode("utf-16"),
        "quote": 'score,side\n"1,0\n2,1\n',
        "ragged": "score,side\n1,0\n1,2,3\n",
        "wide": "score,side\n1,0,5,6,7\n",
        "twice": "score,score,side\n1,2,0\n2,3,1\n",
        "no-run": "run,bit,score\n,1,1\n,0,2\n",
        "some-runs": "run,bit,score\n1,1,1\n,0,2\n",
        "no-canary": "run,canary,bit,score\n1,,1,1\n1,2,0,2\n",
        "mixed-run": "run,canary,bit,score\n1,a,1,1\nx,a,0,2\n",
        "mixed-canary": "run,canary,bit,score\n1,a,1,1\n1,2,0,2\n",
        "large": f"score,side\n{'9' * 400},0\n{'9' * 5000},1\n",
        "large-flag": f"score,side\n1,{'9' * 40}\n2,1\n",
        "dates": "score,side\n2020-01-01,0\n2020-01-02,1\n",
        "infinite": "score,side\ninf,0\n-inf,1\n",
        "flags": "score,side\n1,True\n2,False\n",
        "formula": "score,side\n=1+1,0\n2,1\n",
        "header": "score,side",
        "blank": "\n\n\n",
        "long": "score,side\n" + "1" * 1_000_000 + ",0\n",
        "columns": ",".join(f"c{i}" for i in range(3_000)) + "\n" + ",".join("1" * 3_000) + "\n",
    }
    for name, table in tables.items():
        yield f"{name}.csv", table if isinstance(table, bytes) else table.encode()


def mutated(n: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """Copies of intact files with bytes changed, cut out, doubled or exchanged."""
    rng = np.random.default_rng(seed)
    bits = {"score": np.arange(12.0), "bit": np.arange(12) % 2, "run": np.arange(12) // 6, "canary": np.arange(12) % 6}
    table = "run,canary,bit,score\n" + "".join(f"{i // 6},{i % 6},{i % 2},{i}.5\n" for i in range(12))
    sources = [
        ("npz", npz(HONEST)),
        ("npz", npz(bits)),
        ("npz", npz(bits, np.savez_compressed)),
        ("csv", table.encode()),
    ]
    for number in range(n):
        ending, content = sources[int(rng.integers(len(sources)))]
        changed = bytearray(content)
        for _ in range(int(rng.integers(1, 6))):
            at, length = int(rng.integers(len(changed) + 1)), int(rng.integers(1, 9))
            act = int(rng.integers(5))
            if act == 0:
                changed[at : at + length] = rng.bytes(length)
            elif act == 1:
                del changed[at : at + length]
            elif act == 2:
                changed[at:at] = changed[max(at - length, 0) : at]
            elif act == 3 and len(changed) > 1:
                spot = int(rng.integers(len(changed)))
                changed[spot] ^= 1 << int(rng.integers(8))
            else:
                changed[at : at + 4] = int(rng.choice([0, 2**31, 2**32 - 1])).to_bytes(4, "little")
        yield f"mutated-{number}.{ending}", bytes(changed)
