"""Objects are put once and wholly, in a folder as in any file system of pyarrow."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from pyarrow import fs

from datamodel.errors import InputError
from storage.lake.object_store import BucketStore, LocalStore, ObjectStore, open_store


@pytest.fixture(params=["folder", "objects"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    """A folder, and pyarrow's own way to a folder."""
    (tmp_path / "a").mkdir()
    local = LocalStore(tmp_path)
    return local if request.param == "folder" else BucketStore(fs.LocalFileSystem(), str(tmp_path), "objects")


def made(store: ObjectStore, tmp_path: Path, *folders: str) -> None:
    """Have folders where the file system does not make them by itself."""
    if isinstance(store, BucketStore):
        for folder in folders:
            (tmp_path / folder).mkdir(parents=True)


def test_what_is_put_is_there(store: ObjectStore, tmp_path: Path) -> None:
    """Objects come back by name, whole and in part, and are listed with their sizes until they are removed."""
    made(store, tmp_path, "a/b")
    store.put([("a/b/one", b"first"), ("a/two", b"")])
    assert [(found.name, found.size_bytes) for found in store.list("a")] == [("a/b/one", 5), ("a/two", 0)]
    assert (store.read("a/b/one"), store.read("a/two")) == (b"first", b"")
    with store.open("a/b/one") as file:
        file.seek(2)
        assert file.read() == b"rst"
    assert store.list("nowhere") == []
    store.remove(["a/b/one", "never/there"])
    assert [found.name for found in store.list("a")] == ["a/two"]
    with pytest.raises(FileNotFoundError):
        store.read("a/b/one")


def test_a_name_is_used_once(store: ObjectStore) -> None:
    """A name that is taken stays what it is, and what came with it is taken back."""
    store.put([("a/old", b"old")])
    with pytest.raises(FileExistsError):
        store.put([("a/new", b"new"), ("a/old", b"other")])
    assert [found.name for found in store.list("a")] == ["a/old"]
    assert store.read("a/old") == b"old"


def test_an_object_is_replaced_as_a_whole(store: ObjectStore) -> None:
    """It holds the new content afterwards, whether or not there was one before, and nothing else is left."""
    store.replace("a/one", b"first")
    store.replace("a/one", b"2")
    assert [(found.name, found.size_bytes) for found in store.list("a")] == [("a/one", 1)]
    assert store.read("a/one") == b"2"


def test_what_cannot_be_replaced_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full leaves the old content; what a killed process left unfinished does not matter."""
    store = LocalStore(tmp_path)
    store.replace("a", b"old")
    (tmp_path / ".a.new").write_bytes(b"half")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            store.replace("a", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert store.read("a") == b"old"
    store.replace("a", b"new")
    assert store.read("a") == b"new"


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full in the middle takes back what was written before."""
    store = LocalStore(tmp_path)
    (tmp_path / "a").mkdir()
    synced = []

    def full(descriptor: int) -> None:
        synced.append(descriptor)
        if len(synced) > 1:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        store.put([("a/one", b"1"), ("a/two", b"2")])
    assert store.list("a") == []


def test_a_disk_that_is_away_is_not_made_anew(tmp_path: Path) -> None:
    """Folders below the first ones are made; the first ones are where disks are mounted."""
    with pytest.raises(FileNotFoundError):
        LocalStore(tmp_path).put([("segments/flows/x", b"1")])


def test_addresses(tmp_path: Path) -> None:
    """A path is a folder, an address a file system, and an unknown one an error that names it."""
    assert open_store(tmp_path).name == open_store(str(tmp_path)).name == str(tmp_path)
    store = open_store(f"file://{tmp_path}")
    (tmp_path / "a").mkdir()
    store.put([("a/b", b"1")])
    assert (tmp_path / "a" / "b").read_bytes() == b"1"
    with pytest.raises(InputError, match="nosuch://bucket"):
        open_store("nosuch://bucket/prefix?secret_key=x")
