"""All writes stay in their folder, and concurrent writers of one file do not interfere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from dpassay.audit.trials.folder import Folder, is_temporary, write_atomically
from dpassay.audit.trials.store import TrialStore
from dpassay.mechanisms.core import StoreError

SECRET = b"not to be touched"
LINK = "is a symbolic link, and nothing is written or read through it"


@pytest.fixture
def outside(tmp_path):
    """Return a folder outside of the allowed one, with a file in it."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "file").write_bytes(SECRET)
    yield folder
    assert [p.name for p in folder.iterdir()] == ["file"]
    assert (folder / "file").read_bytes() == SECRET


@pytest.fixture
def folder(tmp_path):
    made = Folder(tmp_path / "run")
    made.make()
    return made


def test_a_link_is_replaced_by_what_is_written(folder, outside):
    (folder.root / "results.json").symlink_to(outside / "file")
    folder.write("results.json", b"new")
    assert not (folder.root / "results.json").is_symlink()
    assert folder.read("results.json") == b"new"


def test_a_link_under_the_name_of_a_temporary_file_is_not_followed(folder, outside):
    """The names that were once used for them, and any that can be guessed."""
    for name in ("results.json.tmp", ".results.json.tmp", "results.json~"):
        (folder.root / name).symlink_to(outside / "file")
    folder.write("results.json", b"new")
    assert folder.read("results.json") == b"new"


def test_a_folder_that_is_a_link_is_refused(folder, outside):
    (folder.root / "figures").symlink_to(outside)
    for act in (
        lambda: folder.write("figures/a.svg", b"new"),
        lambda: folder.make("figures"),
        lambda: folder.make("figures/deeper"),
        lambda: folder.append("figures/journal.jsonl"),
        lambda: folder.read("figures/file"),
        lambda: folder.remove_temporaries("figures"),
    ):
        with pytest.raises(StoreError, match=rf"run/figures {LINK}.*Remove it, or choose another directory"):
            act()


def test_appending_refuses_links_of_both_kinds_and_what_is_no_file(folder, outside):
    (folder.root / "soft").symlink_to(outside / "file")
    os.link(outside / "file", folder.root / "hard")
    os.mkfifo(folder.root / "pipe")
    with pytest.raises(StoreError, match=LINK):
        folder.append("soft")
    for name in ("hard", "pipe"):
        with pytest.raises(StoreError, match=f"{name} has a second name elsewhere, or is not a file"):
            folder.append(name)
    (folder.root / "hard").unlink()


def test_reading_refuses_links_and_does_not_wait_for_a_pipe(folder, outside):
    (folder.root / "soft").symlink_to(outside / "file")
    os.mkfifo(folder.root / "pipe")
    for name in ("soft", "pipe"):
        with pytest.raises(StoreError, match="nothing is written or read through it"):
            folder.read(name)
    with pytest.raises(FileNotFoundError):
        folder.read("missing")


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/etc/x", "a//x", ".", "a/.."])
def test_a_name_that_leads_up_is_refused(folder, name):
    with pytest.raises(StoreError, match="is not the name of a file or folder below the root"):
        folder.write(name, b"")


def test_the_folder_itself_may_be_reached_through_a_link(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "here").symlink_to(tmp_path / "disk")
    Folder(tmp_path / "here").write("a", b"1")
    assert (tmp_path / "disk" / "a").read_bytes() == b"1"


def test_writers_of_one_file_never_meet(folder):
    """The file holds the whole content of one of many writers, and nothing else."""
    contents = [bytes([65 + i]) * 200_000 for i in range(8)]
    threads = [threading.Thread(target=folder.write, args=("x", content)) for content in contents * 3]
    for thread in threads:
        thread.start()
    contents_read = set()
    while any(thread.is_alive() for thread in threads):
        if (folder.root / "x").exists():
            contents_read.add(folder.read("x"))
    for thread in threads:
        thread.join()
    assert contents_read | {folder.read("x")} <= set(contents)
    assert [p.name for p in folder.root.iterdir()] == ["x"]


WRITER = """
import os, sys
from pathlib import Path
from dpassay.audit.trials.folder import Folder
def stay(*_, **__):
    print("written", flush=True)
    sys.stdin.read()
os.replace = stay
Folder(Path(sys.argv[1])).write("x", b"half")
"""


def temporaries(folder):
    return sorted(path.name for path in folder.root.iterdir() if is_temporary(path.name))


def test_only_temporary_files_of_dead_writers_are_removed(folder):
    (folder.root / "mine.tmp").write_bytes(b"")
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, folder.root], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert writer.stdout.readline() == b"written\n"
    (name,) = temporaries(folder)
    assert re.fullmatch(r"\.x\.[0-9a-f]{16}\.tmp", name)
    folder.remove_temporaries()
    assert temporaries(folder) == [name]
    writer.kill()
    writer.communicate()
    folder.remove_temporaries(seconds=3600)
    assert [path.name for path in folder.root.iterdir()] == ["mine.tmp"]


def test_where_there_are_no_locks_old_temporaries_are_removed(folder, monkeypatch):
    monkeypatch.setattr("dpassay.audit.trials.folder.lock", lambda *_, **__: None)
    names = [f".x.{digit * 16}.tmp" for digit in "ab"]
    for name in names:
        (folder.root / name).write_bytes(b"")
    os.utime(folder.root / names[0], (time.time() - 7200,) * 2)
    folder.remove_temporaries(seconds=3600)
    assert temporaries(folder) == names[1:]


def test_a_temporary_that_is_removed_before_it_is_locked_is_made_again(folder, monkeypatch):
    made = []

    def locked(descriptor, *, wait):
        made.extend(temporaries(folder))
        if len(made) == 1:
            (folder.root / made[0]).unlink()
        return True

    monkeypatch.setattr("dpassay.audit.trials.folder.lock", locked)
    folder.write("x", b"whole")
    assert folder.read("x") == b"whole"
    assert len(set(made)) == 2


def test_a_file_has_the_permissions_that_the_user_gives_new_files(tmp_path):
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "x", b"")
    finally:
        os.umask(before)
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("name", ["chunks", "journal.jsonl", "manifest.json", "chunks/evaluation-0-000000.npz"])
def test_a_store_with_a_link_in_it_is_refused_or_replaces_the_link(tmp_path, outside, name):
    directory = tmp_path / "trials"
    with TrialStore(directory, {"seed": 1}, warn=print) as store:
        store.save("evaluation-0-000000", {"scores": np.arange(3.0)})
    link = directory / name
    link.rename(tmp_path / "moved")
    link.symlink_to(outside if name == "chunks" else outside / "file")
    with pytest.raises(StoreError, match=LINK), TrialStore(directory, {"seed": 1}, warn=print) as store:
        store.load("evaluation-0-000000")


def test_a_link_in_the_place_of_a_chunk_that_is_run_again_is_replaced(tmp_path, outside):
    directory = tmp_path / "trials"
    (directory / "chunks").mkdir(parents=True)
    (directory / "chunks" / "a.npz").symlink_to(outside / "file")
    with TrialStore(directory, {"seed": 1}, warn=print) as store:
        store.save("a", {"scores": np.arange(3.0)})
        assert store.load("a") is not None
    assert not Path(directory / "chunks" / "a.npz").is_symlink()
