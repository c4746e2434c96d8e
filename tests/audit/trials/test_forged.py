"""Chunks with a valid checksum that the run has not written: from another version, or forged."""

import hashlib
import io
import json

import numpy as np
import pytest

from dpassay.attacks.reconstruction import FairBits, OneOf
from dpassay.audit import audit
from dpassay.audit.games.reconstruction import reconstruction_game
from dpassay.audit.games.training import train_shadows
from dpassay.mechanisms import Laplace, Neighbours, PureDP
from dpassay.mechanisms.core import DpassayError, Outputs, StoreError
from dpassay.mechanisms.learning.dp_sgd import DPSGD
from dpassay.mechanisms.learning.models import SoftmaxRegression
from dpassay.mechanisms.local import KAryRandomizedResponse, RandomizedResponse

RNG = np.random.default_rng(0)
RECORDS = RNG.normal(size=(12, 2)), RNG.integers(0, 2, 12)
PAIR = Neighbours([1.0, 0.0], [1.0, 0.0, 1.0], "add_remove")


def noisy(dataset, rng):
    return sum(dataset) + rng.laplace()


def of_a_pair(store):
    return audit(Laplace(1.0), trials=600, seed=0, store=store)


def of_a_function(store):
    return audit(noisy, PAIR, claim=PureDP(1.0), trials=60, seed=0, store=store)


def of_rounds(store):
    mechanism = KAryRandomizedResponse(1.0, k=3)
    return reconstruction_game(mechanism, OneOf([0, 1, 2]), n_rounds=600, seed=0, store=store)


def of_models(store):
    learner = DPSGD(SoftmaxRegression(2, 2), steps=2, noise_multiplier=1.0, sampling="full-batch", batch_size=12)
    return train_shadows(learner, RECORDS, 4, seed=0, store=store)


def of_bits(store):
    return reconstruction_game(RandomizedResponse(1.0), FairBits.column(5), n_rounds=60, seed=0, store=store)


def of_rounds_of_a_function(store):
    return reconstruction_game(
        noisy, OneOf(([1.0, 0.0], [1.0, 1.0])), n_rounds=300, seed=0, claim=PureDP(1.0, "replace_one"), store=store
    )


def doubled(values):
    """Return an array of twice the length."""
    return np.concatenate([values, values])


def longer_type(values):
    """Return the numbers as another type, of which there is no such array."""
    return values.astype(np.longdouble) if values.dtype.kind in "biuf" else np.zeros(values.shape)


def forged(arrays, rng):
    """Return the chunk with one array removed, renamed, or changed in shape or type."""
    name = sorted(arrays)[rng.integers(len(arrays))]
    values = arrays.pop(name)
    acts = [
        lambda: {},
        lambda: {"unknown": values},
        lambda: {name: values[:0]},
        lambda: {name: values.reshape(-1)[:1]},
        lambda: {name: values[None]},
        lambda: {name: np.array(["text"])},
        lambda: {name: np.float64(1.0)},
        lambda: {name: np.full(np.shape(values), np.nan)},
        lambda: {name: doubled(values)},
        lambda: {name: longer_type(values)},
    ]
    return arrays | acts[rng.integers(len(acts))]()


def write_chunk(folder, key, arrays):
    """Write a chunk with a digest of its own."""
    path = folder / "chunks" / f"{key}.npz"
    np.savez(path, **arrays)
    line = {"chunk": key, "bytes": 0, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    with (folder / "journal.jsonl").open("a") as journal:
        journal.write(json.dumps(line) + "\n")


STORES = [of_a_pair, of_a_function, of_rounds, of_rounds_of_a_function, of_bits, of_models]


@pytest.mark.usefixtures("without_power")
@pytest.mark.parametrize("change", [doubled, longer_type])
@pytest.mark.parametrize("make", STORES)
def test_arrays_of_another_length_or_type_are_refused_by_name(make, change, tmp_path):
    """Also in a chunk whose digest is right, where they would change the result."""
    make(tmp_path)
    journal = (tmp_path / "journal.jsonl").read_text()
    keys = [json.loads(line)["chunk"] for line in journal.splitlines()]
    n_tried = 0
    for key in {key.split("-")[0]: key for key in keys}.values():
        content = (tmp_path / "chunks" / f"{key}.npz").read_bytes()
        with np.load(io.BytesIO(content)) as arrays:
            whole = dict(arrays)
        texts = ("changed", "above_", "below_")  # enter no statistic
        for name in (name for name, values in whole.items() if values.size and not name.startswith(texts)):
            write_chunk(tmp_path, key, whole | {name: change(whole[name])})
            with pytest.raises(StoreError, match=f"cannot be used .*{name}"):
                make(tmp_path)
            (tmp_path / "journal.jsonl").write_text(journal)
            (tmp_path / "chunks" / f"{key}.npz").write_bytes(content)
            n_tried += 1
    assert n_tried >= 1


@pytest.mark.usefixtures("without_power")
@pytest.mark.parametrize(("make", "n"), [(of_a_pair, 40), (of_a_function, 20), (of_rounds, 40), (of_models, 40)])
def test_no_forged_chunk_ends_in_an_error_without_a_name(make, n, tmp_path):
    make(tmp_path)
    journal, whole = tmp_path / "journal.jsonl", (tmp_path / "journal.jsonl").read_text()
    keys = [json.loads(line)["chunk"] for line in whole.splitlines()]
    rng, refused = np.random.default_rng(5), 0
    for _ in range(n):
        key = keys[rng.integers(len(keys))]
        path = tmp_path / "chunks" / f"{key}.npz"
        content = path.read_bytes()
        with np.load(io.BytesIO(content)) as arrays:
            np.savez(path, **forged(dict(arrays), rng))
        line = {"chunk": key, "bytes": 0, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
        journal.write_text(whole + json.dumps(line) + "\n")
        try:
            make(tmp_path)
        except DpassayError as error:
            refused += "cannot be used" in str(error)
        path.write_bytes(content)
    assert refused > 5


class LongDoubles(Laplace):
    """A mechanism of a user that returns long doubles, which have another size on other machines."""

    def release(self, dataset, size, rng):
        return Outputs(super().release(dataset, size, rng).values.astype(np.longdouble))


@pytest.mark.usefixtures("without_power")
def test_outputs_that_are_long_doubles_are_stored_and_continued_as_doubles(tmp_path):
    first = audit(LongDoubles(1.0), trials=300, seed=0, store=tmp_path).to_json()
    assert audit(LongDoubles(1.0), trials=300, seed=0, store=tmp_path).to_json() == first
    for file in (tmp_path / "chunks").iterdir():
        with np.load(file) as arrays:
            assert {values.dtype.itemsize for values in arrays.values() if values.dtype.kind == "f"} <= {8}
