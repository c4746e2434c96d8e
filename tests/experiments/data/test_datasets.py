"""Datasets: what is loaded, and the errors for missing parts."""

import json
import random

import numpy as np
import pytest
from scipy import stats

from dpassay.experiments.config.sections import DataSection
from dpassay.experiments.config.tasks.build import load_data
from dpassay.experiments.data import datasets
from dpassay.experiments.data.datasets import load
from dpassay.experiments.data.images import oriented_gradients
from dpassay.experiments.literature.census import _ages_law, _female_share, census_blocks, population
from dpassay.mechanisms.core import DataError, ParameterError, UnknownNameError
from dpassay.mechanisms.literature.query_release.tables import census_domain


@pytest.mark.parametrize(
    ("name", "shape"),
    [("breast-cancer", (569, 31)), ("diabetes", (442, 11)), ("iris", (150, 5)), ("wine", (178, 14))],
)
def test_bundled_tables_have_their_target_in_the_last_column(name, shape):
    table = datasets.load(name)
    assert table.shape == shape
    assert table.columns[-1] == "target"


def test_digits_are_a_pair_in_the_unit_interval():
    X, y = datasets.load("digits")
    assert X.shape == (1797, 64)
    assert X.min() == 0.0
    assert X.max() == 1.0
    assert set(y) == set(range(10))


def test_the_survey_follows_its_options():
    bits = datasets.load("tax-survey", n=4000, rate=0.25, seed=3)
    assert bits.dtype == np.int8
    assert set(bits) == {0, 1}
    assert abs(bits.mean() - 0.25) < 5 * (0.25 * 0.75 / 4000) ** 0.5  # false alarm below 1e-6
    assert (bits == datasets.load("tax-survey", n=4000, rate=0.25, seed=3)).all()
    assert (bits != datasets.load("tax-survey", n=4000, rate=0.25, seed=4)).any()


@pytest.mark.parametrize(
    ("name", "options", "error", "message"),
    [
        ("irish", {}, UnknownNameError, "unknown dataset 'irish'. Did you mean 'iris'"),
        ("iris", {"n": 3}, ParameterError, "unknown option of dataset 'iris': 'n'"),
        (
            "tax-survey",
            {"rat": 3},
            ParameterError,
            "unknown option of dataset 'tax-survey': 'rat'. Did you mean 'rate'",
        ),
        ("tax-survey", {"rate": 3}, ParameterError, "rate must lie in [0, 1], but is 3."),
        ("tax-survey", {"n": 0}, ParameterError, "n must be a whole number >= 1, but is 0."),
        ("mnist", {"part": "trian"}, ParameterError, "unknown part 'trian'. Did you mean 'train'"),
    ],
)
def test_a_wrong_name_or_option_is_named(name, options, error, message):
    with pytest.raises(error) as caught:
        datasets.load(name, **options)
    assert message in str(caught.value)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("DPASSAY_DATA", str(tmp_path))
    return tmp_path


def test_adult_is_read_from_the_data_directory(folder):
    (folder / "adult_coded.csv").write_text("age,sex,extra\n1,0,9\n3,1,9\n")
    (folder / "adult_domain.json").write_text(json.dumps({"age": 4, "sex": 2}))
    assert datasets.load("adult").to_dict("list") == {"age": [1, 3], "sex": [0, 1]}


def test_a_table_of_ones_own_is_read_from_its_file(tmp_path):
    (tmp_path / "people.csv").write_text("age,name\n31,Ann\n72,Bob\n")
    table = datasets.load("csv", path=str(tmp_path / "people.csv"))
    assert table.to_dict("list") == {"age": [31, 72], "name": ["Ann", "Bob"]}


@pytest.mark.parametrize(
    ("path", "content", "error", "message"),
    [
        (None, "", ParameterError, "path must be the name of a CSV file"),
        ("https://localhost/people.csv", "", DataError, "there is no file 'https://localhost/people.csv'"),
        ("people.csv", "age\n", DataError, "people.csv has no records"),
        ("people.csv", "", DataError, "cannot read people.csv"),
    ],
)
def test_a_file_that_is_no_table_is_named(path, content, error, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(content)
    with pytest.raises(error, match=message):
        datasets.load("csv", path=path)


def test_adult_codes_outside_the_domain_are_refused(folder):
    (folder / "adult_coded.csv").write_text("age,sex\n1,0\n4,1\n")
    (folder / "adult_domain.json").write_text(json.dumps({"age": 4, "sex": 2}))
    with pytest.raises(DataError, match="age has codes outside 0 to 3"):
        datasets.load("adult")


def test_adult_without_its_columns_is_refused(folder):
    (folder / "adult_coded.csv").write_text("age\n1\n")
    (folder / "adult_domain.json").write_text(json.dumps({"age": 4, "sex": 2}))
    with pytest.raises(DataError, match=r"adult_coded\.csv lacks the columns sex of adult_domain\.json"):
        datasets.load("adult")


def test_a_missing_data_directory_says_what_belongs_where(monkeypatch):
    monkeypatch.delenv("DPASSAY_DATA", raising=False)
    with pytest.raises(DataError) as caught:
        datasets.load("adult")
    assert str(caught.value) == (
        "dataset 'adult' needs adult_coded.csv and adult_domain.json. Put them into a folder, and name it in "
        "DPASSAY_DATA or as `directory` in [data]."
    )


def test_a_data_directory_without_the_files_names_them(folder):
    (folder / "adult_coded.csv").write_text("age\n1\n")
    with pytest.raises(
        DataError, match=f"but {folder} lacks adult_domain.json. Put them there, or set another folder."
    ):
        datasets.load("adult")
    with pytest.raises(DataError, match=r"needs mnist\.npz, but .* lacks mnist\.npz"):
        datasets.load("mnist", directory=str(folder))


def test_a_damaged_file_is_named(folder):
    (folder / "adult_coded.csv").write_text("age\n1\n")
    (folder / "adult_domain.json").write_text("{")
    with pytest.raises(DataError, match=r"cannot read .*adult_domain\.json: .* Replace it with an intact copy"):
        datasets.load("adult")
    (folder / "mnist.npz").write_bytes(b"no archive")
    with pytest.raises(DataError, match=r"cannot read .*mnist\.npz"):
        datasets.load("mnist")


def test_mnist_is_read_from_the_data_directory(folder):
    images = np.array([[[0, 255], [51, 0]]], dtype=np.uint8)
    np.savez(folder / "mnist.npz", x_train=images, y_train=[7], x_test=images, y_test=[3])
    X, y = datasets.load("mnist", part="test")
    assert X.tolist() == [[0.0, 1.0, 0.2, 0.0]]
    assert y.tolist() == [3]
    np.savez(folder / "mnist.npz", x_train=images)
    with pytest.raises(DataError, match="lacks the arrays y_train"):
        datasets.load("mnist")


def test_mnist_without_file_and_network_says_what_belongs_where(folder, monkeypatch):
    def no_network(*_, **__):
        raise OSError("no route to host")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", no_network)
    with pytest.raises(DataError, match=r"cannot be downloaded from OpenML \(no route to host\)\. Put mnist\.npz"):
        datasets.load("mnist")


def half_downloaded(content, count, rng):
    """The file cut off, or with bytes of its end missing or wrong."""
    for _ in range(count):
        at, harmed = rng.randrange(len(content)), bytearray(content)
        if rng.random() < 0.5:
            del harmed[at:]
        else:
            harmed[at : at + 64] = bytes(min(64, len(content) - at))
        yield bytes(harmed)


def test_a_file_that_was_downloaded_in_part_is_named_or_was_whole_enough(folder):
    rng, images = random.Random(1), np.arange(8, dtype=np.uint8).reshape(2, 2, 2)
    parts = {"x_train": images, "y_train": [7, 1], "x_test": images, "y_test": [3, 2]}
    refused = 0
    for save in (np.savez, np.savez_compressed):
        save(folder / "mnist.npz", **parts)
        for content in half_downloaded((folder / "mnist.npz").read_bytes(), 150, rng):
            (folder / "mnist.npz").write_bytes(content)
            try:
                assert datasets.load("mnist", part="test")[0].shape == (2, 4)
            except DataError as error:
                refused += "mnist.npz" in str(error)
    (folder / "adult_domain.json").write_text(json.dumps({"age": 4, "sex": 2}))
    for content in half_downloaded(b"age,sex\n1,0\n3,1\n" * 3, 100, rng):
        (folder / "adult_coded.csv").write_bytes(content)
        try:
            datasets.load("adult")
        except DataError as error:
            refused += "adult_coded.csv" in str(error)
    (folder / "adult_coded.csv").write_text("age,sex\n1,0\n")
    for text in ("[]", "{}", '{"age": "4"}', '{"age": null}', '{"age": -1}', "[" * 100_000, '{"age": ' + "9" * 5000):
        (folder / "adult_domain.json").write_text(text)
        with pytest.raises(DataError, match=r"cannot read .*adult_domain\.json"):
            datasets.load("adult")
    assert refused > 250


@pytest.mark.parametrize("directory", ["x" * 5000, "~nobody-of-this-name/x", "a\0b"])
def test_an_impossible_data_directory_is_an_error_of_the_library(directory):
    with pytest.raises(DataError, match=r"is not a folder|lacks"):
        datasets.load("adult", directory=directory)


@pytest.mark.parametrize("chosen", [{}, {"columns": ["name", "age"]}, {"column": "age"}, {"target": "name"}])
def test_a_blank_in_a_table_is_refused_with_its_column_and_record(tmp_path, chosen):
    (tmp_path / "people.csv").write_text("age,name,income\n31,Ann,5\n,Bob,6\n44,Eve,7\n")
    section = DataSection(name="csv", path=str(tmp_path / "people.csv"), **chosen)
    with pytest.raises(
        DataError, match=r"no value in column 'age' of record 1 .counted from 0.*Fill them in"
    ) as caught:
        load_data(section)
    assert caught.value.argument == "path"


def test_a_blank_in_a_column_that_is_not_chosen_does_not_matter(tmp_path):
    (tmp_path / "people.csv").write_text("age,name\n31,Ann\n,Bob\n")
    section = DataSection(name="csv", path=str(tmp_path / "people.csv"), columns=["name"])
    assert load_data(section)["name"].tolist() == ["Ann", "Bob"]


IMAGES = np.random.default_rng(0).random((3, 28, 28))


def test_a_quarter_turn_moves_cells_and_directions_and_nothing_else():
    result = oriented_gradients(IMAGES.reshape(3, -1)).reshape(3, 8, 7, 7)
    turned = oriented_gradients(np.rot90(IMAGES, axes=(1, 2)).reshape(3, -1)).reshape(3, 8, 7, 7)
    np.testing.assert_allclose(turned, np.roll(np.rot90(result, axes=(2, 3)), -2, axis=1), atol=1e-5)


def test_brightness_and_contrast_change_nothing_and_rows_have_norm_one():
    rows = IMAGES.reshape(3, -1)
    np.testing.assert_allclose(oriented_gradients(rows), oriented_gradients(0.3 * rows + 0.5), atol=1e-3)
    np.testing.assert_allclose(np.linalg.norm(oriented_gradients(rows), axis=1), 1.0, atol=1e-5)
    assert not oriented_gradients(np.ones((2, 784))).any()


@pytest.mark.parametrize(
    ("images", "options", "argument"),
    [
        (np.ones((2, 783)), {}, "X"),
        (np.ones(784), {}, "X"),
        (np.ones((2, 784)), {"cells": 5}, "X"),
        (np.ones((2, 784)), {"cells": 0}, "cells"),
        (np.ones((2, 784)), {"directions": 1}, "directions"),
    ],
)
def test_wrong_images_and_options_are_named(images, options, argument):
    with pytest.raises(ParameterError, match=argument):
        oriented_gradients(images, **options)


FALSE_ALARM = 1e-6


def test_people_of_many_blocks_are_spread_as_the_population_says():
    """Ages, and sexes at each age; races vary from block to block, but not on average."""
    blocks = census_blocks(n=2000, n_blocks=26, seed=3)
    counts = np.bincount(blocks[:, 0], minlength=111)[:100]
    assert stats.chisquare(counts, len(blocks) * _ages_law()[:100]).pvalue > FALSE_ALARM
    women = np.bincount(blocks[blocks[:, 1] == 0, 0], minlength=111)[:100]
    scores = (women - counts * _female_share()[:100]) / np.sqrt(counts * 0.25)
    assert np.abs(scores).max() < stats.norm.isf(FALSE_ALARM / 200)
    shares = np.array([(blocks[blocks[:, 3] == b, 2] == 0).mean() for b in range(26)])
    assert shares.std() > 0.1
    assert abs(shares.mean() - 0.62) < stats.norm.isf(FALSE_ALARM / 2) * 0.2 / np.sqrt(26)


def test_the_population_is_that_of_the_domain():
    law, types = population(), census_domain().every_type
    assert law.shape == (len(types),)
    np.testing.assert_allclose([law[types[:, 2] == race].sum() for race in range(4)], [0.62, 0.12, 0.06, 0.20])
    np.testing.assert_allclose(np.bincount(types[:, 0], law), _ages_law())
    assert law[types[:, 0] >= 100].sum() == 0.0


def test_blocks_repeat_with_their_seed_and_fit_their_domain():
    blocks = load("census-blocks", n=7, n_blocks=3, seed=4)
    np.testing.assert_array_equal(blocks, census_blocks(n=7, n_blocks=3, seed=4))
    assert census_domain(3).checked(blocks).shape == (21, 4)
    assert census_domain(1).checked(census_blocks(n=7, n_blocks=1)).shape == (7, 3)
    with pytest.raises(ParameterError, match="n_blocks must be at most 26"):
        census_blocks(n_blocks=27)
