"""Canaries for any training loop, as arrays and texts."""

import numpy as np
import pandas as pd
import pytest

from dpassay.attacks.canaries import inserted_tokens, mislabelled, out_of_distribution, random_records
from dpassay.mechanisms.core import ParameterError

RNG = np.random.default_rng(0)
TABLE, IMAGES = RNG.normal(size=(200, 6)), RNG.integers(0, 256, size=(200, 4, 4, 1), dtype=np.uint8)
LABELS = RNG.integers(0, 3, 200)
WORDS = [f"record {i} of {i % 7} words" for i in range(100)]
MAKERS = {"mislabelled": mislabelled, "random": random_records, "out of distribution": out_of_distribution}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("X", [TABLE, IMAGES, TABLE.astype(np.float32)], ids=["table", "images", "float32"])
def test_canaries_look_like_the_data_and_are_all_different(maker, X):
    canaries = MAKERS[maker](X, LABELS, 50, seed=1)
    assert canaries.records.shape == (50, *X.shape[1:])
    assert canaries.records.dtype == X.dtype
    assert set(canaries.labels) <= {0, 1, 2}
    assert len({record.tobytes() for record in canaries.records}) == len(set(canaries.ids)) == len(canaries) == 50
    again, other = (MAKERS[maker](X, LABELS, 50, seed=seed).records for seed in (1, 2))
    np.testing.assert_array_equal(canaries.records, again)
    assert (canaries.records != other).any()


def test_mislabelled_records_are_those_of_the_data_with_another_label():
    canaries = mislabelled(TABLE, LABELS, 200, seed=0)
    right = {row.tobytes(): label for row, label in zip(TABLE, LABELS, strict=True)}
    assert all(
        right[record.tobytes()] != label for record, label in zip(canaries.records, canaries.labels, strict=True)
    )


def test_labels_may_be_texts_and_records_a_table_of_categories():
    table = pd.DataFrame({"colour": ["red", "blue"] * 20, "age": range(40)})
    y = np.array(["yes", "no"] * 20)
    assert set(mislabelled(table, y, 10, seed=0).labels) == {"yes", "no"}
    made = random_records(table, y, 30, seed=0)
    assert set(made.records[:, 0]) == {"red", "blue"}


def test_random_records_have_the_values_of_each_feature_but_are_no_records():
    made = random_records(TABLE, LABELS, 50, seed=0).records
    assert all(np.isin(made[:, j], TABLE[:, j]).all() for j in range(6))
    assert not {row.tobytes() for row in made} & {row.tobytes() for row in TABLE}


def test_records_out_of_distribution_are_corners_of_the_range_and_beyond():
    low, high = TABLE.min(axis=0), TABLE.max(axis=0)
    made = out_of_distribution(TABLE, LABELS, 60, seed=0).records
    assert ((made == low) | (made == high)).all()
    assert (out_of_distribution(TABLE, LABELS, 60, seed=0, beyond=0.5).records[0] != made[0]).all()


def test_tokens_are_inserted_between_the_words_of_a_text():
    canaries = inserted_tokens(WORDS, 100, seed=0, n_tokens=5, vocabulary=["alpha", "beta"])
    for text in canaries.records:
        assert sum(word in ("alpha", "beta") for word in text.split(" ")) == 5
        assert " ".join(word for word in text.split(" ") if word not in ("alpha", "beta")) in WORDS


def test_chosen_canaries_keep_their_ids_and_labels():
    canaries = mislabelled(TABLE, LABELS, 10, seed=0)
    included = np.arange(10) % 2 == 0
    chosen = canaries.where(included)
    assert chosen.ids == canaries.ids[::2]
    np.testing.assert_array_equal(chosen.records, canaries.records[::2])
    np.testing.assert_array_equal(chosen.labels, canaries.labels[::2])
    with pytest.raises(ParameterError, match="included"):
        canaries.where(np.arange(10))


@pytest.mark.parametrize(
    "make",
    [
        lambda: mislabelled(TABLE, LABELS, 201, seed=0),
        lambda: mislabelled(TABLE, np.zeros(200), 5, seed=0),
        lambda: mislabelled(TABLE[:, 0], LABELS, 5, seed=0),
        lambda: mislabelled(TABLE, LABELS[:-1], 5, seed=0),
        lambda: mislabelled(TABLE, LABELS, 0, seed=0),
        lambda: random_records(np.ones((9, 2)), np.zeros(9), 3, seed=0),
        lambda: out_of_distribution(np.full((9, 2), np.nan), np.zeros(9), 3, seed=0),
        lambda: out_of_distribution(np.array([["a"], ["b"]]), np.zeros(2), 1, seed=0),
        lambda: out_of_distribution(IMAGES, LABELS, 3, seed=0, beyond=1.0),
        lambda: out_of_distribution(TABLE, LABELS, 65, seed=0),
        lambda: inserted_tokens("one text", 1, seed=0),
        lambda: inserted_tokens(["a", 3], 1, seed=0),
        lambda: inserted_tokens(["a", "a"], 2, seed=0),
        lambda: inserted_tokens(WORDS, 2, seed=0, vocabulary=["one"]),
    ],
)
def test_canaries_that_cannot_be_made_are_refused(make):
    with pytest.raises(ParameterError):
        make()
