import errno
import json
import os

import numpy as np
import pytest

from dpassay.audit.trials import store as store_module
from dpassay.audit.trials.folder import write_atomically
from dpassay.audit.trials.plan import Slice
from dpassay.audit.trials.store import TrialStore, differences, merge_stores
from dpassay.mechanisms.core import FingerprintError, StoreError

MANIFEST = {"mechanism": {"class": "Laplace", "epsilon": 1.0}, "seed": 7}


@pytest.fixture
def warnings_given():
    return []


@pytest.fixture
def open_store(tmp_path, warnings_given):
    def opener(manifest=MANIFEST, directory=tmp_path / "trials"):
        return TrialStore(directory, manifest, warn=warnings_given.append)

    return opener


def filled(open_store, count=3):
    with open_store() as store:
        for index in range(count):
            store.save(f"evaluation-0-{index:06d}", {"scores": np.arange(5.0) + index})
        return store.directory


def test_a_saved_chunk_is_loaded_as_it_was(open_store):
    arrays = {"scores": np.array([1.5, -np.inf, np.inf]), "event_labels": np.array(["nan", "raised ValueError"])}
    with open_store() as store:
        assert store.load("evaluation-0-000000") is None
        store.save("evaluation-0-000000", arrays)
    with open_store() as store:
        loaded = store.load("evaluation-0-000000")
    assert loaded is not None
    assert loaded.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(loaded[name], array)


@pytest.mark.parametrize("harm", ["flip a byte", "truncate", "delete", "empty"])
def test_a_harmed_chunk_is_reported_and_left_for_recomputation(open_store, warnings_given, harm):
    directory = filled(open_store)
    path = directory / "chunks" / "evaluation-0-000001.npz"
    content = bytearray(path.read_bytes())
    if harm == "flip a byte":
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    elif harm == "truncate":
        path.write_bytes(content[:-7])
    elif harm == "empty":
        path.write_bytes(b"")
    else:
        path.unlink()
    with open_store() as store:
        assert store.load("evaluation-0-000001") is None
        assert store.load("evaluation-0-000000") is not None
    assert len(warnings_given) == 1
    assert "evaluation-0-000001" in warnings_given[0]
    assert "running it again" in warnings_given[0]


def test_a_torn_journal_line_is_cut_off_and_the_next_line_stands_alone(open_store):
    directory = filled(open_store)
    journal = directory / "journal.jsonl"
    journal.write_bytes(journal.read_bytes()[:-20])
    with open_store() as store:
        assert store.load("evaluation-0-000002") is None
        store.save("evaluation-0-000002", {"scores": np.arange(5.0)})
    with open_store() as store:
        assert store.load("evaluation-0-000002") is not None
    assert [json.loads(line)["chunk"][-1] for line in journal.read_text().splitlines()] == ["0", "1", "2"]


def test_a_garbled_journal_line_costs_only_its_chunk(open_store, warnings_given):
    directory = filled(open_store)
    journal = directory / "journal.jsonl"
    lines = journal.read_text().splitlines()
    lines[1] = "{garbled"
    journal.write_text("\n".join(lines) + "\n")
    with open_store() as store:
        assert store.load("evaluation-0-000000") is not None
        assert store.load("evaluation-0-000001") is None
        assert store.load("evaluation-0-000002") is not None
    assert "line 2" in warnings_given[0]


def test_trials_of_another_experiment_are_refused_with_the_difference(open_store):
    filled(open_store)
    with pytest.raises(FingerprintError) as refusal, open_store({**MANIFEST, "seed": 8}):
        pass
    assert "another experiment" in str(refusal.value)
    assert "seed: the store has 7, this run has 8" in str(refusal.value)
    with pytest.raises(FingerprintError, match=r"mechanism\.epsilon: the store has 1\.0, this run has 2\.0"):
        open_store({**MANIFEST, "mechanism": {"class": "Laplace", "epsilon": 2.0}}).__enter__()


def test_a_directory_with_other_files_is_refused(open_store, tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.tex").write_text("...")
    with pytest.raises(FingerprintError, match=r"chapter1\.tex"):
        open_store(directory=tmp_path / "thesis").__enter__()
    assert (tmp_path / "thesis" / "chapter1.tex").read_text() == "..."


def test_two_processes_cannot_share_a_store(open_store):
    with open_store(), pytest.raises(StoreError, match="another process"):
        open_store().__enter__()
    with open_store():
        pass


def test_an_unwritable_place_is_named(open_store, tmp_path):
    (tmp_path / "file").write_text("not a directory")
    with pytest.raises(StoreError, match=r"cannot write trials to .*file.*Not a directory"):
        open_store(directory=tmp_path / "file" / "trials").__enter__()


def test_a_full_disk_says_so_and_what_was_written_stays_good(open_store, monkeypatch):
    real = os.fsync
    with open_store() as store:
        store.save("pilot-0-000000", {"values": np.arange(3.0)})

        def full(descriptor):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(store_module.os, "fsync", full)
        with pytest.raises(StoreError, match=r"No space left on device.*written so far are safe; free some space"):
            store.save("pilot-0-000001", {"values": np.arange(3.0)})
        monkeypatch.setattr(store_module.os, "fsync", real)
    with open_store() as store:
        assert store.load("pilot-0-000000") is not None
        assert store.load("pilot-0-000001") is None
        assert not list((store.directory / "chunks").glob("*.tmp"))


def test_nothing_is_unpickled(open_store, warnings_given):
    directory = filled(open_store, count=1)
    path = directory / "chunks" / "evaluation-0-000000.npz"
    np.savez(path, scores=np.array([{"evil": 1}], dtype=object))
    line = json.loads((directory / "journal.jsonl").read_text())
    import hashlib

    line["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (directory / "journal.jsonl").write_text(json.dumps(line) + "\n")
    with open_store() as store:
        assert store.load("evaluation-0-000000") is None
    assert "is damaged" in warnings_given[0]


def test_an_atomic_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "results.json"
    write_atomically(path, b"old")

    def full(descriptor):
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(store_module.os, "fsync", full)
    with pytest.raises(OSError, match="full"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["results.json"]


def test_differences_name_the_leaf():
    stored, wanted = {"a": {"b": 1, "c": 2}, "d": 3}, {"a": {"b": 1, "c": 4}, "e": 5}
    assert list(differences(stored, wanted)) == [
        "a.c: the store has 2, this run has 4",
        "d: the store has 3, this run has none",
        "e: not in the store, this run has 5",
    ]


def test_merged_stores_have_the_chunks_of_both(open_store, tmp_path, warnings_given):
    for part in (0, 1):
        with open_store(directory=tmp_path / f"{part}") as store:
            store.save("pilot-0-000000", {"values": np.arange(3.0)})
            store.save(f"evaluation-0-{part:06d}", {"scores": np.full(2, float(part))})
    merge_stores([tmp_path / "0", tmp_path / "1"], tmp_path / "all", warn=warnings_given.append)
    with open_store(directory=tmp_path / "all") as store:
        assert [store.load(f"evaluation-0-{part:06d}")["scores"][0] for part in (0, 1)] == [0.0, 1.0]
    assert not warnings_given


def test_stores_of_machines_that_computed_different_numbers_are_not_merged(open_store, tmp_path):
    for part in (0, 1):
        with open_store(directory=tmp_path / f"{part}") as store:
            store.save("pilot-0-000000", {"values": np.arange(3.0) + part * 1e-16})
            store.save("pilot-1-000000", {"values": np.ones(3) + part * 2.3e-16})
    with pytest.raises(StoreError, match=r"pilot-0-000000 of .*1 is not that of .*all: the machines of the slices"):
        merge_stores([tmp_path / "0", tmp_path / "1"], tmp_path / "all", warn=print)


def test_a_machine_that_scores_the_pilot_differently_is_refused(tmp_path):
    with TrialStore(tmp_path / "slice", MANIFEST, warn=print, share=Slice(1, 2)) as store:
        store.agree("pilot-scores", {"out": np.ones(3)})
    with TrialStore(tmp_path / "slice", MANIFEST, warn=print) as store:
        store.agree("pilot-scores", {"out": np.ones(3)})
        with pytest.raises(StoreError, match=r"pilot-scores of this machine is not that of"):
            store.agree("pilot-scores", {"out": np.ones(3) + 2.3e-16})


def test_a_whole_store_records_no_agreement(open_store):
    with open_store() as store:
        store.agree("pilot-scores", {"out": np.ones(3)})
        assert store.load("pilot-scores") is None


def test_stores_of_different_trials_are_not_merged(open_store, tmp_path):
    for part in (0, 1):
        with open_store({**MANIFEST, "seed": part}, tmp_path / f"{part}"):
            pass
    with pytest.raises(FingerprintError, match=r"seed: the store has 1, this run has 0"):
        merge_stores([tmp_path / "0", tmp_path / "1"], tmp_path / "all", warn=print)
