"""Messages: what arrives is what was sent, with its types, and bytes that are no message are refused."""

import io
import struct
import zlib

import numpy as np
import pytest

from dpassay.mechanisms.adapters.functions import messages
from dpassay.mechanisms.adapters.functions.forms import RaisedException, ReadResult
from dpassay.mechanisms.adapters.functions.reading import read_result

NONCE = bytes(range(16))
PLAIN = [
    None,
    True,
    -(2**70),
    0.1,
    -0.0,
    1j,
    "\udc80 text",
    b"\0bytes",
    np.float32(0.5),
    np.str_("a"),
    [],
    [1, 2, 3, 4, 5],
    [True, False, True, False],
    [1.5, 2.5, float("inf"), -0.0],
    [np.float64(1.5)] * 4,
    [2**70, 1, 2, 3, 4],
    [1, 1.0, True, None, "a"],
    (1, [2, (3,)]),
    {"a": [1.0], 2: {"b": None}},
    [RaisedException("ValueError", "text")] * 5,
]


def sent(value):
    pipe = io.BytesIO()
    messages.write(pipe, NONCE, value)
    return pipe.getvalue()


def received(content):
    return messages.read(io.BytesIO(content), NONCE)


def shown(value):
    """Types and digits of a value."""
    if isinstance(value, (list, tuple)):
        return type(value), [shown(item) for item in value]
    return type(value), repr(value)


@pytest.mark.parametrize("value", PLAIN, ids=lambda value: repr(value)[:30])
def test_values_arrive_with_their_types(value):
    assert shown(received(sent(value))) == shown(value)


@pytest.mark.parametrize(
    "array",
    [np.arange(6.0).reshape(2, 3), np.array(1), np.zeros((0, 3)), np.array(["a", "bc"]), np.arange(3, dtype=">i2")],
)
def test_arrays_arrive_alone_and_together(array):
    for one in (received(sent(array)), *received(sent([array] * 5))):
        assert (one.dtype, one.shape, one.tolist()) == (array.dtype, array.shape, array.tolist())


def test_results_that_were_read_arrive_as_the_same_rows_and_events():
    results = [{"b": 1.5, "a": "text"}, [float("nan"), 2], None, {"b": 2, "a": "other"}, (1.0, 2.0), 2**60 + 1]
    outcomes = [read_result(result) for result in results]
    arrived = received(sent([ReadResult(outcome, (("name", "[0]"),)) for outcome in outcomes]))
    assert [one.names for one in arrived] == [(("name", "[0]"),)] * 6
    for one, outcome in zip(arrived, outcomes, strict=True):
        now, before = ({name: shown(getattr(x, name)) for name in vars(x)} for x in (one.outcome, outcome))
        assert now == before


def test_a_generator_goes_on_where_it_was_and_spawns_the_same_ones():
    rng = np.random.default_rng([3, 4])
    rng.random(), rng.spawn(1)
    copy = received(sent(rng))
    assert copy.random() == rng.random()
    assert copy.spawn(1)[0].random() == rng.spawn(1)[0].random()


@pytest.mark.parametrize("value", [object(), [set()], np.array([None]), len, {"a": lambda: 0}])
def test_what_is_no_plain_data_is_not_sent(value):
    pipe = io.BytesIO()
    with pytest.raises(messages.MessageError, match="no plain data"):
        messages.write(pipe, NONCE, value)
    assert pipe.getvalue() == b""


def test_damaged_messages_are_refused():
    whole = sent({"rows": [1.0, 2.0, 3.0, 4.0], "state": ("a", 2)})
    for at in range(len(whole)):
        with pytest.raises(messages.MessageError):
            received(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(messages.EndedError):
            received(whole[:at])


@pytest.mark.parametrize(
    "content",
    [
        b"?",
        b"",
        b"NN",
        b"l" + (2**60).to_bytes(8, "big"),
        b"l" + (1).to_bytes(8, "big"),
        b"a" + (20).to_bytes(8, "big") + (8).to_bytes(4, "big") + b"<f8 9999" + bytes(8),
        b"a" + (19).to_bytes(8, "big") + (7).to_bytes(4, "big") + b"|O8 1  " + bytes(8),
        b"".join([b"l" + (1).to_bytes(8, "big")] * 200) + b"N",
        b"ZN",
        b"QN",
    ],
)
def test_messages_with_other_contents_are_refused(content):
    header = struct.pack(">16sQI", NONCE, len(content), zlib.crc32(content))
    with pytest.raises(messages.MessageError):
        received(header + content)


def test_a_length_beyond_the_limit_takes_no_memory():
    with pytest.raises(messages.MessageError, match="no message"):
        received(struct.pack(">16sQI", NONCE, 2**62, 0))
