import gzip
import json

import numpy as np
import pandas as pd
import pytest

from dpassay.experiments.data.table_files import read_table
from dpassay.mechanisms.core import ParameterError

TABLE = pd.DataFrame({"Straße": ["Ä", "B", "C"], "n": ["1", "2", "3"], "x": ["0.5", "1.5", "2.5"]})


def csv(**options):
    return TABLE.to_csv(index=False, **options)


WAYS = {
    "table.csv": csv().encode(),
    "semicolon.csv": csv(sep=";").encode(),
    "tabs.csv": csv(sep="\t").encode(),
    "bars.csv": csv(sep="|").encode(),
    "table.tsv": csv(sep="\t").encode(),
    "latin.csv": csv().encode("latin-1"),
    "mark.csv": csv().encode("utf-8-sig"),
    "wide.csv": csv().encode("utf-16"),
    "numbered.csv": TABLE.to_csv().encode(),
    "table.csv.gz": gzip.compress(csv().encode()),
    "packed.csv": gzip.compress(csv().encode()),
    "table.jsonl": "\n".join(json.dumps(row, ensure_ascii=False) for row in TABLE.to_dict("records")).encode(),
    "table.ndjson": "".join(json.dumps(row) + "\n" for row in TABLE.to_dict("records")).encode(),
}


@pytest.mark.parametrize("name", WAYS)
def test_each_kind_of_text_file_gives_the_same_table(name, tmp_path):
    (tmp_path / name).write_bytes(WAYS[name])
    read = read_table(tmp_path / name)
    assert list(read.columns) == list(TABLE.columns)
    assert read.astype(str).to_numpy().tolist() == TABLE.to_numpy().tolist()


def test_arrays_have_numbered_or_named_columns(tmp_path):
    np.save(tmp_path / "plain.npy", np.arange(6.0).reshape(3, 2))
    assert list(read_table(tmp_path / "plain.npy").columns) == ["column 1", "column 2"]
    np.save(tmp_path / "named.npy", np.array([(1, 2.5), (3, 4.5)], dtype=[("age", int), ("pay", float)]))
    assert read_table(tmp_path / "named.npy")["pay"].tolist() == [2.5, 4.5]


REFUSED = {
    "nameless.csv": (b",a\nx,1\ny,2\n", "column 1 has no name"),
    "middle.csv": (b"a,,b\n1,2,3\n", "column 2 has no name"),
    "twice.csv": (b"a;a\n1;2\n", "'a' stands twice"),
    "zeros.csv": (b"a,b\n\0,1\n", "zero bytes"),
    "list.jsonl": (b"[1, 2]\n", "line 1 must be an object"),
    "nested.jsonl": (b'{"a": {"b": 1}}\n', "entries of 'a' are objects"),
    "cube.npy": (None, "two axes"),
    "table.xlsx": (b"", "ends in '.xlsx'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_files_that_are_no_table_are_refused_with_the_cause(name, tmp_path):
    content, cause = REFUSED[name]
    if content is None:
        np.save(tmp_path / name, np.zeros((2, 2, 2)))
    else:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ParameterError) as caught:
        read_table(tmp_path / name, argument="real")
    assert cause in str(caught.value)
    assert caught.value.argument == "real"
