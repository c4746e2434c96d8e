"""Datasets by name: bundled with scikit-learn, synthetic, or from a data directory.

The data directory is the option `directory` of [data], else the environment variable DPASSAY_DATA. It may contain

    mnist.npz                                x_train, y_train, x_test, y_test
    adult_coded.csv, adult_domain.json       the census of 1994 in integer codes, and the number of codes per attribute

A user's table is "csv", with its file as the option `path`.

If mnist.npz is missing, MNIST is downloaded once from OpenML. No other dataset is downloaded.
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...audit.trials.array_files import read_npz
from ...mechanisms.core import Catalogue, DataError, ParameterError, unit_interval, unknown_name_message, whole

if TYPE_CHECKING:
    import pandas as pd

Data: TypeAlias = "pd.DataFrame | tuple[NDArray[Any], NDArray[Any]] | NDArray[Any]"
VARIABLE = "DPASSAY_DATA"
MNIST = "mnist.npz"
DAMAGED = (OSError, ValueError, KeyError, EOFError, RecursionError, NotImplementedError, zipfile.BadZipFile, zlib.error)
"""Exceptions of file readers for a damaged file."""
ADULT = ("adult_coded.csv", "adult_domain.json")


def load(name: str, **options: Any) -> Data:
    """Load a dataset by name: a DataFrame, an `(X, y)` pair, or an array.

    Args:
        name: one of `catalogue`.
        options: such as `n` of "tax-survey", or `directory` of "adult".

    Raises:
        UnknownNameError: no such dataset; the message lists the nearest.
        ParameterError: an unknown option, or a value out of range.
        DataError: the files are missing or unreadable; the message lists the required files.

    Example:
        >>> load("breast-cancer")["mean radius"].shape
        (569,)
        >>> load("tax-survey", n=5, rate=0.5, seed=1)
        array([0, 0, 1, 0, 1], dtype=int8)
    """
    data: Data = catalogue.build(name, **options)
    return data


def columns(data: Data, names: Sequence[str], option: str, *, name: str) -> pd.DataFrame:
    """Return the columns of a table that `option` names; raise `ParameterError` if dataset `name` lacks them."""
    table: Any = data
    if not hasattr(table, "columns"):
        content = "features and labels" if isinstance(table, tuple) else "numbers only"
        raise ParameterError(
            f"{option} chooses from the columns of a table, but dataset {name!r} is not a table: it has {content}. "
            f"Leave {option} out.",
            argument=option,
        )
    for column in names:
        if column not in table.columns:
            message = unknown_name_message(f"column of dataset {name!r}:", column, map(str, table.columns))
            raise ParameterError(message, argument=option, value=column)
    chosen: pd.DataFrame = table[list(names)]
    return chosen


def tax_survey(*, n: int = 1000, rate: float = 0.02, seed: int = 0) -> NDArray[np.int8]:
    """Generate answers of `n` people to "Did you cheat on your taxes?": 1 = yes, with probability `rate`."""
    whole(1, n=n)
    whole(0, seed=seed)
    unit_interval(rate=rate)
    return (np.random.default_rng(seed).random(n) < rate).astype(np.int8)


def adult(*, directory: str | None = None) -> pd.DataFrame:
    """Load the census income of 48,842 Americans in 1994, 14 attributes, each an integer code (UCI Adult)."""
    import pandas as pd

    folder = _directory(directory, "adult", ADULT)
    table: pd.DataFrame = _read(folder / ADULT[0], pd.read_csv)
    domain: dict[str, int] = _read(folder / ADULT[1], _domain)
    missing = [attribute for attribute in domain if attribute not in table.columns]
    if missing:
        raise DataError(f"{folder / ADULT[0]} lacks the columns {', '.join(missing)} of {ADULT[1]}.")
    for attribute, size in domain.items():
        if table[attribute].dtype.kind not in "iu" or not table[attribute].between(0, size - 1).all():
            raise DataError(f"{folder / ADULT[0]}: {attribute} has codes outside 0 to {size - 1}.")
    return table[list(domain)]


def csv(*, path: str | None = None) -> pd.DataFrame:
    """Load a table from the CSV file `path`, whose first line names the columns."""
    import pandas as pd

    if not isinstance(path, str) or not path:
        allowed = 'be the name of a CSV file, in quotes, such as path = "people.csv"'
        raise ParameterError(argument="path", value=path, allowed=allowed)
    file = Path(path).expanduser()
    if not file.is_file():  # URLs are not supported
        raise DataError(
            f"there is no file {path!r}. Set a path relative to the folder in which dpassay runs, or an absolute path.",
            argument="path",
            owner="csv",
        )
    table: pd.DataFrame = _read(file, pd.read_csv)
    if table.empty:
        raise DataError(f"{path} has no records. Its first line names the columns; each further line is a record.")
    return table


def mnist(*, directory: str | None = None, part: str = "train") -> tuple[NDArray[Any], NDArray[Any]]:
    """Load handwritten digits: X `(n, 784)` in [0, 1], y `(n,)` in 0..9; part "train" (60,000) or "test" (10,000)."""
    if part not in ("train", "test"):
        raise ParameterError(unknown_name_message("part", str(part), ["train", "test"]), argument="part")
    if directory is None and not (Path(os.environ.get(VARIABLE, "")) / MNIST).is_file():
        return _mnist_from_openml(part)
    folder = _directory(directory, "mnist", [MNIST])
    arrays = _read(folder / MNIST, read_npz)
    missing = {f"x_{part}", f"y_{part}"} - arrays.keys()
    if missing:
        raise DataError(f"{folder / 'mnist.npz'} lacks the arrays {', '.join(sorted(missing))}.")
    images, labels = arrays[f"x_{part}"], arrays[f"y_{part}"]
    numbers = images.dtype.kind in "biuf" and labels.dtype.kind in "biu"
    if not numbers or images.ndim < 2 or labels.shape != images.shape[:1] or not len(images):
        raise DataError(
            f"{folder / MNIST}: x_{part} must be numbers of shape (n, ...) and y_{part} whole numbers of shape (n,), "
            f"but are {images.dtype} {images.shape} and {labels.dtype} {labels.shape}. Replace it with an intact copy."
        )
    return images.reshape(len(images), -1) / 255.0, labels.astype(np.int64)


def _bundled(loader: str, line: str) -> Callable[[], pd.DataFrame]:
    """Return a loader of a table of scikit-learn, its target in the last column; `line` is its docstring."""

    def load_table() -> pd.DataFrame:
        import sklearn.datasets

        table: pd.DataFrame = getattr(sklearn.datasets, loader)(as_frame=True).frame
        return table

    load_table.__doc__ = line
    return load_table


def digits() -> tuple[NDArray[Any], NDArray[Any]]:
    """Load small handwritten digits: X `(1797, 64)` in [0, 1], y `(1797,)` in 0..9."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X / 16.0, y


def purchase_like(
    *, n: int = 2000, n_classes: int = 20, n_features: int = 100, seed: int = 0
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Generate synthetic shoppers: products bought, X `(n, 100)` of 0 and 1, and one of 20 styles, y `(n,)`.

    The table imitates the Purchase tables of membership inference: each style buys each product with a probability
    drawn from Beta(0.6, 0.6) and shrunk half-way to 1/2. A linear model trained on half of the rows has an accuracy of
    about 0.7, an overfitted network of about 0.6.
    """
    whole(1, n=n, n_features=n_features)
    whole(2, n_classes=n_classes)
    whole(0, seed=seed)
    rng = np.random.default_rng(seed)
    styles = 0.3 + 0.4 * rng.beta(0.6, 0.6, size=(n_classes, n_features))
    y = rng.integers(n_classes, size=n)
    return (rng.random((n, n_features)) < styles[y]).astype(np.float64), y


def _mnist_from_openml(part: str) -> tuple[NDArray[Any], NDArray[Any]]:
    from sklearn.datasets import fetch_openml

    try:
        X, y = fetch_openml("mnist_784", version=1, return_X_y=True, as_frame=False, parser="liac-arff")
    except DAMAGED as error:
        raise DataError(
            f"dataset 'mnist' is not on this machine and cannot be downloaded from OpenML ({error}). Put mnist.npz, "
            f"with x_train, y_train, x_test and y_test, into a folder, and name the folder in {VARIABLE} or as "
            "`directory` in [data]."
        ) from error
    rows = slice(60_000) if part == "train" else slice(60_000, None)
    return X[rows] / 255.0, y[rows].astype(np.int64)


def _directory(directory: str | None, name: str, files: Sequence[str]) -> Path:
    """Return the data directory; raise `DataError` if it is unknown or lacks one of the files."""
    if not isinstance(directory, str | None):
        raise ParameterError(argument="directory", value=directory, allowed="be the name of a folder, in quotes")
    place = directory or os.environ.get(VARIABLE)
    context = {"argument": "directory", "owner": name}
    needs = f"dataset {name!r} needs {' and '.join(files)}"
    if not place:
        raise DataError(
            f"{needs}. Put them into a folder, and name it in {VARIABLE} or as `directory` in [data].", **context
        )
    try:
        folder = Path(place).expanduser()
        missing = [file for file in files if not (folder / file).is_file()]
    except (OSError, RuntimeError, ValueError) as error:  # the name is too long, or the home directory unknown
        raise DataError(
            f"{needs}, but {place[:60]!r} is not a folder ({error}). Set another one.", **context
        ) from error
    if missing:
        lacks = f"{folder} lacks {' and '.join(missing)}"
        raise DataError(f"{needs}, but {lacks}. Put them there, or set another folder.", **context)
    return folder


def _domain(path: Path) -> dict[str, int]:
    """Load the number of codes of each attribute."""
    sizes = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(sizes, dict) or not sizes or not all(type(size) is int and size > 0 for size in sizes.values()):
        raise ValueError("it must be an object with a whole number >= 1 for each attribute")
    return sizes


def _read(path: Path, reader: Callable[[Path], Any]) -> Any:
    try:
        return reader(path)
    except DAMAGED as error:
        raise DataError(f"cannot read {path}: {error}. Replace it with an intact copy.") from error


breast_cancer = _bundled(
    "load_breast_cancer", "Load 569 biopsies: 30 measures of the cells, and whether the tumour is benign."
)
diabetes = _bundled(
    "load_diabetes", "Load 442 diabetes patients: 10 measures, scaled, and the progress of the disease."
)
iris = _bundled("load_iris", "Load 150 iris flowers: 4 lengths in cm, and one of 3 species.")
wine = _bundled("load_wine", "Load 178 wines: 13 measures, and one of 3 growers.")

catalogue = Catalogue(
    "dataset",
    "dpassay.experiments.data",
    {
        "adult": "datasets:adult",
        "breast-cancer": "datasets:breast_cancer",
        "csv": "datasets:csv",
        "diabetes": "datasets:diabetes",
        "digits": "datasets:digits",
        "iris": "datasets:iris",
        "mails": "mails:mails",
        "mnist": "datasets:mnist",
        "people": "people:people",
        "purchase-like": "datasets:purchase_like",
        "ratings": "people:ratings",
        "tax-survey": "datasets:tax_survey",
        "wine": "datasets:wine",
    },
    group="dpassay.datasets",
)
