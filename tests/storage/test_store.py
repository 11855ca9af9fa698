"""A commit counts wholly or not at all, wherever its writer is interrupted."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from datamodel.errors import InputError
from storage import session
from storage.layout import Writer, make_folders
from storage.manifest import ManifestLog
from storage.reading import read, read_kind
from storage.store import Batch, Store, read_state
from tests.storage.records import batch, counters, flows

WRITER = Writer("20260101T000000000000Z", 0)


def opened(folder: Path, writer: Writer = WRITER, workers: int = 1) -> Store:
    """A store, its folders made."""
    make_folders(folder)
    return Store(folder, writer, workers)


def kept(folder: Path) -> list[int]:
    """The `bytes` of all committed flow records, sorted; they are running numbers."""
    return sorted(read(folder).flows.frame["bytes"].tolist())


def files(folder: Path, kind: str) -> list[str]:
    """Names in one of the folders."""
    return sorted(path.name for path in (folder / kind).iterdir())


def test_what_is_committed_is_read(tmp_path: Path) -> None:
    """Records of several commits and writers come back once each, with addresses of one book."""
    one, two = opened(tmp_path), opened(tmp_path, Writer(WRITER.session, 1))
    one.commit(batch(flows(10), counters(2), until=4))
    two.commit(batch(flows(5, first=10)))
    one.commit(batch(flows(0), until=6))
    one.commit(batch(flows(5, first=15), until=9))
    reading = read(tmp_path)
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


def commit_singly(store: Store, numbers: range) -> None:
    """Commit flow records one by one, a reading of counters with each."""
    for number in numbers:
        store.commit(batch(flows(1, first=number), counters(1), until=number + 1))


class Interrupted(BaseException):
    """Stands for the end of the process: nothing catches it."""


@pytest.mark.parametrize("call", ["fsync", "append"])
@pytest.mark.parametrize("nth", [0, 1, 2, 3, 4])
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
        target: Any = os if call == "fsync" else ManifestLog
        original = getattr(target, call)
        patch.setattr(target, call, interrupt)
        with pytest.raises(Interrupted):
            commit_singly(store, range(3, 20))
    again = opened(tmp_path)
    assert again.newest is not None
    done = again.newest.until
    assert kept(tmp_path) == list(range(done))
    again.commit(batch(flows(2, first=done)))
    assert kept(tmp_path) == list(range(done + 2))


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
    (tmp_path / "segments" / gone).unlink()
    (tmp_path / "segments" / damaged).write_bytes(b"PAR1 no more")
    reading = read(tmp_path)
    assert kept(tmp_path) == [4, 5]
    assert reading.notes.rejected == {"row of a committed segment that cannot be read": 4}
    assert [warning.partition(":")[0] for warning in reading.notes.warnings] == [gone, damaged]


def test_no_store(tmp_path: Path) -> None:
    """A folder that is none is named."""
    with pytest.raises(InputError, match="not a folder of collected records"):
        read(tmp_path)


def test_a_session_removes_what_was_not_committed(tmp_path: Path) -> None:
    """Files behind the newest commit go; files of commits, of damaged manifests and of others stay."""
    store = opened(tmp_path)
    store.commit(batch(flows(1)))
    store.commit(batch(flows(1, first=1)))
    keep = files(tmp_path, "segments")
    for name in (f"{WRITER.name}-00000003-flows.parquet", "20260101T000000000001Z-w0-00000001-flows.parquet"):
        (tmp_path / "segments" / name).write_bytes(b"half")
    (tmp_path / "segments" / "readme.txt").write_bytes(b"mine")
    begun = session.begin(tmp_path, 0)
    assert (begun.removed, begun.warnings, begun.workers) == (2, (), 1)
    assert files(tmp_path, "segments") == [*keep, "readme.txt"]
    assert read_state(tmp_path, begun.states[0]) == b"{}"


def test_a_damaged_manifest_removes_nothing(tmp_path: Path) -> None:
    """Where a line cannot be read, files it may have named are left, and the damage is told."""
    store = opened(tmp_path)
    store.commit(batch(flows(1)))
    store.commit(batch(flows(1, first=1)))
    path = tmp_path / "manifest" / f"{WRITER.name}.log"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"x" + lines[1])
    begun = session.begin(tmp_path, 0)
    assert begun.removed == 0
    assert len(files(tmp_path, "segments")) == 2
    assert "1 damaged lines" in begun.warnings[0]
    assert any("damaged" in warning for warning in read(tmp_path).notes.warnings)


def test_one_collector_at_a_time(tmp_path: Path) -> None:
    """A folder that is in use is refused until its holder lets go."""
    held = session.begin(tmp_path, 0)
    with pytest.raises(InputError, match="another collector writes there"):
        session.begin(tmp_path, 0)
    os.close(held.lock)
    again = session.begin(tmp_path, 0)
    assert again.name >= held.name
    os.close(again.lock)


def test_states_are_those_of_as_many_workers(tmp_path: Path) -> None:
    """A worker goes on behind its newest commit since the number of workers last changed."""
    for name, workers in (("a", 2), ("b", 1), ("c", 3), ("d", 3)):
        for worker in range(workers):
            if (name, worker) != ("d", 1):
                opened(tmp_path, Writer(name, worker), workers).commit(Batch(1, [], (), name.encode()))
    begun = session.begin(tmp_path, 0)
    assert begun.workers == 3
    assert [read_state(tmp_path, begun.states[worker]) for worker in range(3)] == [b"d", b"c", b"d"]
    assert len(files(tmp_path, "state")) == 3


def test_damaged_state_is_named(tmp_path: Path) -> None:
    """A state file that cannot be read is one line that names it."""
    make_folders(tmp_path)
    with pytest.raises(InputError, match=r"gone\.state: No such file"):
        read_state(tmp_path, "gone.state")
    (tmp_path / "state" / "a.state").write_bytes(b"junk")
    with pytest.raises(InputError, match=r"a\.state: damaged"):
        read_state(tmp_path, "a.state")
