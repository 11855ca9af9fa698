"""What counts is the same whatever a crash tore and however many checkpoints lie before."""

from __future__ import annotations

import json
import zlib
from dataclasses import asdict
from pathlib import Path

import pytest

from storage.lake.lake_reader import read_lake
from storage.lake.lake_writer import LakeWriter
from storage.lake.log import read_manifests
from storage.lake.manifest import Commit, Segment, encode_commit
from storage.lake.object_names import MANIFEST, Writer, commit_name, make_folders, parse_name, segment_name
from storage.lake.object_store import LocalStore
from storage.lake.segments import encode_segment
from storage.lake.snapshot import snapshot, write_checkpoint
from tests.storage.lake.test_lake_writer import WRITER, kept, opened
from tests.storage.records import BOOK, SECOND_NS, batch, flows


@pytest.fixture
def place(tmp_path: Path) -> LocalStore:
    """A lake with three commits of one record each."""
    store = opened(tmp_path)
    for first in range(3):
        store.commit(batch(flows(1, first=first)))
    return LocalStore(tmp_path)


def test_commits_in_order(place: LocalStore) -> None:
    """Commits are read in order, each writer's together."""
    opened(place.folder, Writer(WRITER.session, 1)).commit(batch(flows(1, first=3)))
    found = list(read_manifests(place))
    assert [manifest.writer.worker for manifest in found] == [0, 1]
    assert [commit.number for commit in found[0].commits] == [1, 2, 3]
    assert [manifest.damaged for manifest in found] == [0, 0]


def test_a_torn_commit_is_none(place: LocalStore) -> None:
    """Wherever a crash cuts the newest commit, the others count, none is called damaged, and its writer repeats it."""
    path = place.folder / commit_name(WRITER, 3)
    content = path.read_bytes()
    for size in range(0, len(content), 7):
        path.write_bytes(content[:size])
        now = snapshot(place)
        assert (len(now.segments), now.heads[WRITER].number, now.damaged) == (2, 2, {})
    LakeWriter(place, WRITER, 1).commit(batch(flows(1, first=7)))
    assert kept(place.folder) == [0, 1, 7]


def test_a_missing_commit_is_told(place: LocalStore) -> None:
    """A commit that is gone from the middle costs its records, and is told."""
    (place.folder / commit_name(WRITER, 2)).unlink()
    assert snapshot(place).damaged == {WRITER: 1}
    assert kept(place.folder) == [0, 2]
    assert read_lake(place).notes.warnings == (f"{WRITER.name}: 1 damaged commits; what they committed was not read",)
    for _ in range(2):  # a checkpoint remembers it, once
        write_checkpoint(place, snapshot(place))
        assert snapshot(place).damaged == {WRITER: 1}


def test_foreign_names_are_left_alone(place: LocalStore) -> None:
    """Files that are none of ours are no commits."""
    for name in ("notes.txt", "notes.log.txt", f"{WRITER.name}/7.txt", "old.json"):
        (place.folder / MANIFEST / name).write_text("mine")
    assert len(snapshot(place).segments) == 3
    assert parse_name(segment_name(WRITER, 12, "flows", 0)) == (WRITER, 12)


def test_a_checkpoint_changes_nothing(place: LocalStore) -> None:
    """Behind a checkpoint the same counts, also when the commits it covers have gone; new ones come on top."""
    before = snapshot(place)
    assert write_checkpoint(place, before).checkpoint == snapshot(place).checkpoint == 1
    assert snapshot(place).commits == 0
    for number in (1, 2, 3):
        (place.folder / commit_name(WRITER, number)).unlink()
    now = snapshot(place)
    assert (now.segments, now.heads[WRITER].number, now.damaged) == (before.segments, 3, {})
    LakeWriter(place, WRITER, 1).commit(batch(flows(1, first=3)))
    assert kept(place.folder) == [0, 1, 2, 3]


def test_a_torn_checkpoint_is_none(place: LocalStore) -> None:
    """A checkpoint that a crash tore is passed over, for the one before it and the commits are still there."""
    first = write_checkpoint(place, snapshot(place))
    LakeWriter(place, WRITER, 1).commit(batch(flows(1, first=3)))
    write_checkpoint(place, snapshot(place))
    newest = max((place.folder / "checkpoint").iterdir())
    content = newest.read_bytes()
    for size in range(0, len(content), 11):
        newest.write_bytes(content[:size])
        assert (snapshot(place).checkpoint, len(snapshot(place).segments)) == (first.checkpoint, 4)


def test_a_removal_counts_before_what_it_removes(place: LocalStore) -> None:
    """A reader that sees a replacement before it sees what was replaced counts neither twice."""
    old = snapshot(place)
    commit = Commit(Writer("keeper", 0), 0, 1, 5, 0, (), "", removes=tuple(old.segments))
    place.put([(commit_name(commit.writer, 1), encode_commit(commit))])
    hidden = place.folder / commit_name(WRITER, 3)
    content = hidden.read_bytes()
    hidden.unlink()
    assert snapshot(place).segments == {}
    hidden.write_bytes(content)
    assert snapshot(place).segments == {}
    assert set(snapshot(place).removed) == set(old.segments)


def test_folders_of_the_first_version_are_read(tmp_path: Path) -> None:
    """Logs with a commit a line, and segments beside each other, count as they did; new commits stand beside."""
    make_folders(tmp_path)
    lines = b""
    for number in (1, 2):
        frame = flows(1, first=number)
        name = f"{WRITER.name}-{number:08d}-flows.parquet"
        (tmp_path / "segments" / name).write_bytes(encode_segment(frame, BOOK))
        time_ns = number * SECOND_NS
        segment = asdict(Segment("flows", name, 1, 9, time_ns, time_ns + 5, {"10.255.0.1": (1, number)}))
        said = asdict(Commit(WRITER, 1, number, 5, number, (), f"{number}.state")) | {"segments": [segment]}
        del said["removes"], segment["group"], segment["written_ns"]
        text = json.dumps(said, separators=(",", ":")).encode()
        lines += f"{zlib.crc32(text):08x} ".encode() + text + b"\n"
    (tmp_path / "manifest" / f"{WRITER.name}.log").write_bytes(lines + b"torn")
    assert kept(tmp_path) == [1, 2]
    assert snapshot(tmp_path).heads[WRITER].state == "2.state"
    opened(tmp_path, Writer("20260102T000000000000Z", 0)).commit(batch(flows(1, first=3)))
    assert kept(tmp_path) == [1, 2, 3]
