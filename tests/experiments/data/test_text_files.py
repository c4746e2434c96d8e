"""JSONL files of token log probabilities: what is read, and what is refused by file and line."""

import copy
import json
import math

import numpy as np
import pytest

from dpassay.audit.metrics.membership.language_models import evaluate_texts
from dpassay.experiments.data.text_files import load_texts
from dpassay.mechanisms.core import DpassayError, ParameterError

LINE = {
    "id": "a",
    "text": "call me",
    "tokens": ["call", " me"],
    "log_probabilities": [-1.5, -0.25],
    "reference_log_probabilities": [-2.0, -1.0, -0.5],
    "means": [-2.0, -1.0],
    "standard_deviations": [1.0, 1.0],
    "member": True,
    "prefix_tokens": 1,
    "alternatives": [-3.0, -4.0],
}


def written(folder, *lines):
    file = folder / "texts.jsonl"
    file.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    return file


def honest(n=30, seed=0):
    """Lines with all fields."""
    rng = np.random.default_rng(seed)
    lines = []
    for i in range(n):
        length = int(rng.integers(2, 9))
        lines.append(
            LINE
            | {
                "id": f"text {i}",
                "text": "".join(rng.choice(list("abc déß"), 20)) + "x",
                "tokens": ["t"] * length,
                "log_probabilities": (-rng.exponential(size=length)).tolist(),
                "means": [-1.0] * length,
                "standard_deviations": [2.0] * length,
                "member": bool(rng.random() < 0.5) if i > 1 else bool(i),
            }
        )
    return lines


def test_all_fields_are_read(tmp_path):
    texts = load_texts(written(tmp_path, LINE, "", LINE | {"id": 7, "member": 0, "log_probabilities": [-1.0, -1.0]}))
    assert texts.names == ("a", "7")
    assert texts.texts == ("call me", "call me")
    assert texts.total.tolist() == [-1.75, -2.0]
    assert texts.member.tolist() == [True, False]
    assert texts.suffix_log_probability.tolist() == [-0.25, -1.0]
    assert texts.alternatives[0].tolist() == [-3.0, -4.0]
    assert texts.means[1].tolist() == [-2.0, -1.0]


def test_ids_are_line_numbers_and_other_fields_are_ignored(tmp_path):
    file = written(
        tmp_path,
        {"log_probabilities": [-1], "label": 1, "source": {"x": [1]}},
        {"log_probabilities": [-2], "label": 0.0},
    )
    texts = load_texts(file)
    assert texts.names == ("1", "2")
    assert texts.member.tolist() == [True, False]
    assert texts.texts is None


def test_a_first_token_without_a_probability_is_left_out(tmp_path):
    first = {
        name: [None, *LINE[name][1:], LINE[name][-1]] for name in ("log_probabilities", "means", "standard_deviations")
    }
    texts = load_texts(written(tmp_path, LINE | first | {"tokens": ["a", "b", "c"], "prefix_tokens": 2,
                                                         "reference_log_probabilities": [None, -1.0]}))  # fmt: skip
    assert texts.tokens[0].tolist() == [-0.25, -0.25]
    assert texts.suffix_log_probability.tolist() == [-0.25]
    assert texts.reference_log_probabilities[0].tolist() == [-1.0]


def test_a_byte_order_mark_and_windows_line_ends_are_accepted(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b"\xef\xbb\xbf" + json.dumps(LINE).encode() + b"\r\n")
    assert len(load_texts(tmp_path / "a.jsonl")) == 1


@pytest.mark.parametrize("value", [None, math.nan, -100.0, 0.0])
def test_padding_at_the_end_is_cut(value, tmp_path):
    lines = [
        LINE
        | {
            "id": i,
            "tokens": ["a"] * 4,
            "log_probabilities": [-1.0 - i, -0.25, value, value],
            "means": [-2.0, -1.0, value, value],
            "standard_deviations": [1.0, 1.0, 0.0, 0.0],
        }
        for i in range(3)
    ]
    texts = load_texts(written(tmp_path, *lines))
    assert texts.tokens[1].tolist() == [-2.0, -0.25]
    assert texts.suffix_log_probability.tolist() == [-0.25] * 3
    assert texts.padding[0].startswith("padding of log_probabilities: 6 of 12 positions, at the end of 3 of 3 texts")
    kept = value == 0.0
    assert len(load_texts(tmp_path / "texts.jsonl", zeros="tokens").tokens[0]) == (4 if kept else 2)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"log_probabilities": None}, "line 1 .* must have log_probabilities"),
        ({"log_probabilities": "-1 -2"}, "line 1 .* must have a list in log_probabilities"),
        ({"log_probabilities": [-1.0, None, -1.0]}, "numbers in log_probabilities, but has None at index 1"),
        ({"log_probabilities": [-1.0, math.nan, -1.0]}, "numbers in log_probabilities, but has None at index 1"),
        ({"log_probabilities": [None, math.nan]}, "only null"),
        ({"alternatives": [math.nan]}, "alternatives must be finite"),
        ({"log_probabilities": [-1.0, True]}, "has True at index 1"),
        ({"log_probabilities": [-1.0, "2"]}, "has '2' at index 1"),
        ({"log_probabilities": [-1.0, -(10**30)]}, "a number of 31 digits"),
        ({"log_probabilities": [-1.0]}, "lists of one length over the tokens"),
        ({"log_probabilities": [1.0, 2.0]}, "texts.jsonl: log_probabilities must be natural logarithms.*'a'"),
        ({"log_probabilities": [-math.inf, -1.0]}, "line 1 .* it holds -Infinity"),
        ({"member": "yes"}, "true or false in member"),
        ({"member": 0.5}, "true or false in member"),
        ({"label": 1}, "one of member and label"),
        ({"prefix_tokens": 1.0}, "a whole number in prefix_tokens"),
        ({"prefix_tokens": 2}, "prefix_tokens must be from 0 to 1"),
        ({"id": ""}, "a text or a whole number in id"),
        ({"id": [1]}, "a text or a whole number in id"),
        ({"text": 5}, "must have a text in text"),
        ({"alternatives": [None]}, "numbers in alternatives"),
        ({"log_probability": [-1.0]}, "'log_probability'; if 'log_probabilities' is meant"),
        ({"refrence_log_probabilities": [-1.0]}, "'reference_log_probabilities' is meant"),
    ],
)
def test_a_line_that_does_not_fit_is_refused(changed, message, tmp_path):
    with pytest.raises(ParameterError, match=message):
        load_texts(written(tmp_path, LINE | changed))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "is empty"),
        (["[1, 2]"], "line 1 .* is a list"),
        (["{", "}"], "line 1 .* must be one JSON object"),
        ([LINE, '{"id": "b", "id": "c", "log_probabilities": [-1]}'], "line 2 .* has the field 'id' twice"),
        (["[" * 100_000], "line 1 .* must be one JSON object"),
        (['{"log_probabilities": [-1.0, -2.0'], "line 1 .* no JSON from column 34 on, near"),
        (["id,loss"], "line 1 .* such as .*log_probabilities.* near 'id,loss'"),
        ([LINE, LINE], "'a' occurs more than once"),
        ([LINE, {"log_probabilities": [-1.0]}], "text in every line or in none, but line 1 has it and line 2 does not"),
        (['{"log_probabilities": [1e999]}'], "must be finite"),
    ],
)
def test_files_that_do_not_fit_are_refused(lines, message, tmp_path):
    with pytest.raises(ParameterError, match=message):
        load_texts(written(tmp_path, *lines))


def test_what_is_no_text_file_is_refused(tmp_path):
    (tmp_path / "latin.jsonl").write_bytes(b"\xff\xfe{}")
    with pytest.raises(ParameterError, match="UTF-8"):
        load_texts(tmp_path / "latin.jsonl")
    with pytest.raises(ParameterError, match="cannot be read"):
        load_texts(tmp_path / "none.jsonl")
    with pytest.raises(ParameterError, match="not a regular file"):
        load_texts(tmp_path)


# --- files of other people --------------------------------------------------------------------------------------------

ODD = (
    None,
    True,
    0,
    -1,
    1e308,
    -1e308,
    10**400,
    "",
    "\x00",
    "\ud800",
    [],
    {},
    [None],
    [[-1.0]],
    [-1e308, -1e308],
    "a" * 5_000,
)


def changed_value(rng, lines):
    """One value of one line, or one entry of one of its lists, becomes odd."""
    line = lines[int(rng.integers(len(lines)))]
    name = sorted(line)[int(rng.integers(len(line)))]
    odd = ODD[int(rng.integers(len(ODD)))]
    if isinstance(line[name], list) and line[name] and rng.random() < 0.5:
        line[name] = list(line[name])
        line[name][int(rng.integers(len(line[name])))] = odd
    else:
        line[name] = odd


def changed_lines(rng, lines):
    """A line is twice there, lost, without a field, or with a renamed one."""
    i, kind = int(rng.integers(len(lines))), int(rng.integers(4))
    name = sorted(lines[i])[int(rng.integers(len(lines[i])))]
    if kind == 0:
        lines.append(lines[i])
    elif kind == 1:
        del lines[i]
    else:
        value = lines[i].pop(name)
        lines[i] |= {name[:-1]: value} if kind == 2 else {}


def mutated(n, seed):
    """Files that are damaged in one or several places: values, lines, bytes."""
    rng = np.random.default_rng(seed)
    for k in range(n):
        lines = copy.deepcopy(honest(6, seed=k))
        for _ in range(int(rng.integers(0, 3))):
            (changed_value, changed_lines)[int(rng.integers(2))](rng, lines)
        content = bytearray("\n".join(map(json.dumps, lines)).encode())
        if rng.random() < 0.5:
            for _ in range(int(rng.integers(1, 4))):
                content[int(rng.integers(len(content)))] = int(rng.integers(256))
        if rng.random() < 0.2:
            del content[int(rng.integers(len(content))) :]
        yield bytes(content)


def outcome(file):
    """The result, or the named error; anything else is raised, warnings included."""
    try:
        return evaluate_texts(load_texts(file), queries=(10,))
    except DpassayError as error:
        return error


def test_no_damaged_file_ends_in_an_error_without_a_name(tmp_path):
    file, refused, read = tmp_path / "damaged.jsonl", 0, 0
    for content in mutated(600, seed=0):
        file.write_bytes(content)
        result = outcome(file)
        if isinstance(result, DpassayError):
            refused += 1
            assert result.argument
            assert len(str(result)) < 2_000
        else:
            read += 1
            assert all(np.isfinite(values).all() for name, values in result.signals.items() if name != "exposure")
            assert result.summary()
    assert refused > 300
    assert read > 50


def test_what_is_read_is_what_was_written(tmp_path):
    lines = honest()
    texts = load_texts(written(tmp_path, *lines))
    assert [row.tolist() for row in texts.tokens] == [line["log_probabilities"] for line in lines]
    assert list(texts.texts) == [line["text"] for line in lines]


def test_a_release_gives_the_log_probabilities(tmp_path):
    rows = [
        {"id": id_, "text": text, "reference_log_probabilities": [-3.0]} for id_, text in (("a", "xyz"), ("b", "pq"))
    ]
    file = written(tmp_path, *rows)
    lines, jsonl = tmp_path / "released.txt", tmp_path / "released.jsonl"
    lines.write_text("an xyz here\n\n an xyz there \n")
    jsonl.write_text("\n".join(json.dumps({"text": line}) for line in ("an xyz here", "an xyz there")))
    texts, same = (load_texts(file, release=release) for release in (lines, jsonl))
    assert [len(row) for row in texts.tokens] == [3, 2]
    assert [row.tolist() for row in texts.tokens] == [row.tolist() for row in same.tokens]
    assert texts.total[0] > texts.total[1]
    assert texts.reference_log_probabilities is not None


@pytest.mark.parametrize(
    ("row", "released", "said"),
    [
        (
            {"text": "a", "log_probabilities": [-1.0]},
            "a",
            "line 1 of .* must not have log_probabilities where a release",
        ),
        ({"text": ""}, "a", "line 1 of .* must have a text that is not empty"),
        ({"id": "a"}, "a", "line 1 of .* must have text, a text, but has the fields id"),
        ({"text": "a"}, "\n \n", "must hold a released text in each line, but is empty"),
        ({"text": "a"}, None, "cannot be read"),
    ],
)
def test_what_no_release_can_score_is_refused(row, released, said, tmp_path):
    if released is not None:
        (tmp_path / "released.txt").write_text(released)
    with pytest.raises(ParameterError, match=said):
        load_texts(written(tmp_path, row), release=tmp_path / "released.txt")
