"""Chunks with a valid checksum that the run has not written: from another version, or forged."""

import hashlib
import io
import json

import numpy as np
import pytest

from dpassay.attacks.reconstruction import OneOf
from dpassay.audit import audit
from dpassay.audit.games.reconstruction import reconstruction_game
from dpassay.audit.games.training import train_shadows
from dpassay.mechanisms import Laplace, Neighbours, PureDP
from dpassay.mechanisms.core.errors import DpassayError
from dpassay.mechanisms.learning.dp_sgd import DPSGD
from dpassay.mechanisms.learning.models import SoftmaxRegression
from dpassay.mechanisms.local import KAryRandomizedResponse

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
    ]
    return arrays | acts[rng.integers(len(acts))]()


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
