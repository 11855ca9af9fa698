"""Objects are put once and wholly, in a folder as in any file system of pyarrow."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from pyarrow import fs

from datamodel.errors import InputError
from storage.place import LocalPlace, ObjectPlace, Place, place_at


@pytest.fixture(params=["folder", "objects"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """A folder, and pyarrow's own way to a folder."""
    (tmp_path / "a").mkdir()
    local = LocalPlace(tmp_path)
    return local if request.param == "folder" else ObjectPlace(fs.LocalFileSystem(), str(tmp_path), "objects")


def made(place: Place, tmp_path: Path, *folders: str) -> None:
    """Have folders where the file system does not make them by itself."""
    if isinstance(place, ObjectPlace):
        for folder in folders:
            (tmp_path / folder).mkdir(parents=True)


def test_what_is_put_is_there(place: Place, tmp_path: Path) -> None:
    """Objects come back by name, whole and in part, and are listed with their sizes until they are removed."""
    made(place, tmp_path, "a/b")
    place.put([("a/b/one", b"first"), ("a/two", b"")])
    assert [(found.name, found.size_bytes) for found in place.list("a")] == [("a/b/one", 5), ("a/two", 0)]
    assert (place.read("a/b/one"), place.read("a/two")) == (b"first", b"")
    with place.open("a/b/one") as file:
        file.seek(2)
        assert file.read() == b"rst"
    assert place.list("nowhere") == []
    place.remove(["a/b/one", "never/there"])
    assert [found.name for found in place.list("a")] == ["a/two"]
    with pytest.raises(FileNotFoundError):
        place.read("a/b/one")


def test_a_name_is_used_once(place: Place) -> None:
    """A name that is taken stays what it is, and what came with it is taken back."""
    place.put([("a/old", b"old")])
    with pytest.raises(FileExistsError):
        place.put([("a/new", b"new"), ("a/old", b"other")])
    assert [found.name for found in place.list("a")] == ["a/old"]
    assert place.read("a/old") == b"old"


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full in the middle takes back what was written before."""
    place = LocalPlace(tmp_path)
    (tmp_path / "a").mkdir()
    synced = []

    def full(descriptor: int) -> None:
        synced.append(descriptor)
        if len(synced) > 1:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        place.put([("a/one", b"1"), ("a/two", b"2")])
    assert place.list("a") == []


def test_a_disk_that_is_away_is_not_made_anew(tmp_path: Path) -> None:
    """Folders below the first ones are made; the first ones are where disks are mounted."""
    with pytest.raises(FileNotFoundError):
        LocalPlace(tmp_path).put([("segments/flows/x", b"1")])


def test_addresses(tmp_path: Path) -> None:
    """A path is a folder, an address a file system, and an unknown one an error that names it."""
    assert place_at(tmp_path).name == place_at(str(tmp_path)).name == str(tmp_path)
    place = place_at(f"file://{tmp_path}")
    (tmp_path / "a").mkdir()
    place.put([("a/b", b"1")])
    assert (tmp_path / "a" / "b").read_bytes() == b"1"
    with pytest.raises(InputError, match="nosuch://bucket"):
        place_at("nosuch://bucket/prefix?secret_key=x")
