"""A commit counts wholly or not at all, wherever its writer is interrupted."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from datamodel.errors import InputError
from storage.lake.lake_reader import read_kind, read_lake
from storage.lake.lake_writer import LakeWriter, read_state
from storage.lake.object_names import Writer, make_folders
from storage.lake.object_store import LocalStore
from tests.storage.records import batch, counters, flows

WRITER = Writer("20260101T000000000000Z", 0)


def opened(folder: Path, writer: Writer = WRITER, workers: int = 1) -> LakeWriter:
    """A store, its folders made."""
    make_folders(folder)
    return LakeWriter(folder, writer, workers)


def kept(folder: Path) -> list[int]:
    """The `bytes` of all committed flow records, sorted; they are running numbers."""
    return sorted(read_lake(folder).flows.frame["bytes"].tolist())


def files(folder: Path, kind: str) -> list[str]:
    """Names of the files in one of the folders, at any depth; those of the tables' logs are not the lake's."""
    paths = (path for path in (folder / kind).rglob("*") if path.is_file())
    return sorted(path.name for path in paths if path.parent.name != "_delta_log")


def located(folder: Path, name: str) -> Path:
    """Where the segment of this name lies."""
    (path,) = (folder / "segments").rglob(name)
    return path


def test_what_is_committed_is_read(tmp_path: Path) -> None:
    """Records of several commits and writers come back once each, with addresses of one book."""
    one, two = opened(tmp_path), opened(tmp_path, Writer(WRITER.session, 1))
    one.commit(batch(flows(10), counters(2), until=4))
    two.commit(batch(flows(5, first=10)))
    one.commit(batch(flows(0), until=6))
    one.commit(batch(flows(5, first=15), until=9))
    reading = read_lake(tmp_path)
    assert kept(tmp_path) == list(range(20))
    assert reading.flows.addresses == ("10.0.0.1", "10.0.0.2", "10.255.0.1", "2001:db8::1")
    assert (reading.records, reading.bytes, reading.exporters) == (20, sum(range(20)), ("10.255.0.1",))
    frame, addresses = read_kind(tmp_path, "counters")
    assert (len(frame), addresses) == (2, ("10.255.0.1",))


def test_sums_by_exporter(tmp_path: Path) -> None:
    """A commit tells rows and bytes of each exporter, those of unknown ones under no name."""
    commit = opened(tmp_path).commit(batch(flows(4)))
    (segment,) = commit.segments
    assert segment.exporters == {"": (2, 0 + 3), "10.255.0.1": (2, 1 + 2)}
    assert (segment.rows, segment.start_ns, segment.end_ns) == (4, 0, 3 * 10**9 + 5)


def test_a_writer_goes_on(tmp_path: Path) -> None:
    """After a restart the newest commit is known, and its state."""
    opened(tmp_path).commit(batch(flows(3), until=7, state=b"templates", totals=(1, 2)))
    store = opened(tmp_path)
    assert store.newest is not None
    assert (store.newest.number, store.newest.until, store.newest.totals) == (1, 7, {"0": 1, "1": 2})
    assert read_state(tmp_path, store.newest.state) == b"templates"
    assert store.commit(batch(flows(2, first=3))).number == 2
    assert kept(tmp_path) == list(range(5))
    assert len(files(tmp_path, "state")) == 1


def commit_singly(store: LakeWriter, numbers: range) -> None:
    """Commit flow records of an hour each one by one, a reading of counters with each."""
    for number in numbers:
        store.commit(batch(flows(1, first=number * 3600), counters(1), until=number + 1))


class Interrupted(BaseException):
    """Stands for the end of the process: nothing catches it."""


STEPS = [*(("put", n) for n in range(4)), *(("mkdir", n) for n in range(3)), *(("fsync", n) for n in range(12))]


@pytest.mark.parametrize(("call", "nth"), STEPS)
def test_interrupted_commits_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, nth: int
) -> None:
    """Whichever step a crash comes at, the commit is there once after it is repeated, and never half."""
    store = opened(tmp_path)
    store.commit(batch(flows(3), until=3))
    calls = 0

    def interrupt(*arguments: Any) -> None:  # noqa: ANN401 - stands for several functions
        nonlocal calls
        calls += 1
        if calls > nth:
            raise Interrupted
        original(*arguments)

    with monkeypatch.context() as patch:
        target: Any = {"fsync": os, "mkdir": Path, "put": LocalStore}[call]
        original = getattr(target, call)
        patch.setattr(target, call, interrupt)
        with pytest.raises(Interrupted):
            commit_singly(store, range(3, 20))
    again = opened(tmp_path)
    assert again.newest is not None
    done = again.newest.until
    before = [0, 1, 2, *(number * 3600 for number in range(3, done))]
    assert kept(tmp_path) == before
    commit_singly(again, range(done, done + 2))
    assert kept(tmp_path) == [*before, done * 3600, (done + 1) * 3600]


def test_a_full_disk_can_be_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit that fails leaves no file behind and can be repeated."""
    store = opened(tmp_path)
    full = OSError(28, "No space left on device")

    def refuse(_descriptor: int) -> None:
        raise full

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", refuse)
        with pytest.raises(OSError, match="No space left"):
            store.commit(batch(flows(3)))
    assert files(tmp_path, "segments") == []
    store.commit(batch(flows(3)))
    assert kept(tmp_path) == [0, 1, 2]


def test_a_lost_segment_costs_itself(tmp_path: Path) -> None:
    """A committed segment that is gone or damaged is named and counted; the rest is read."""
    store = opened(tmp_path)
    for first in (0, 2, 4):
        store.commit(batch(flows(2, first=first)))
    gone, damaged, _ = files(tmp_path, "segments")
    located(tmp_path, gone).unlink()
    located(tmp_path, damaged).write_bytes(b"PAR1 no more")
    reading = read_lake(tmp_path)
    assert kept(tmp_path) == [4, 5]
    assert reading.notes.rejected == {"row of a committed segment that cannot be read": 4}
    assert [warning.partition(":")[0] for warning in reading.notes.warnings] == [gone, damaged]


def test_records_without_state(tmp_path: Path) -> None:
    """Whoever has nothing to remember leaves no state, and knows by its newest commit what it has done."""
    writer = Writer("scan", 0)
    opened(tmp_path, writer).commit(batch(flows(2), until=7, state=b""))
    again = opened(tmp_path, writer)
    assert again.newest is not None
    assert (again.newest.until, again.newest.state, files(tmp_path, "state")) == (7, "", [])


def test_damaged_state_is_named(tmp_path: Path) -> None:
    """A state file that cannot be read is one line that names it."""
    make_folders(tmp_path)
    with pytest.raises(InputError, match=r"gone\.state: No such file"):
        read_state(tmp_path, "gone.state")
    (tmp_path / "state" / "a.state").write_bytes(b"junk")
    with pytest.raises(InputError, match=r"a\.state: damaged"):
        read_state(tmp_path, "a.state")


def test_no_store(tmp_path: Path) -> None:
    """A folder that is none is named."""
    with pytest.raises(InputError, match="not a folder of collected records"):
        read_lake(tmp_path)
