"""A run of a collector holds its folder alone, and goes on where the one before it ended."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from datamodel.errors import InputError
from storage.lake import writer_session
from storage.lake.lake_reader import read_lake
from storage.lake.lake_writer import CommitBatch, read_state
from storage.lake.object_names import Writer, commit_name
from storage.lake.snapshot import snapshot
from tests.storage.lake.test_lake_writer import WRITER, files, opened
from tests.storage.records import batch, flows

NAMES = [f"20260101T00000000000{n}Z" for n in range(4)]


def test_a_session_removes_what_was_not_committed(tmp_path: Path) -> None:
    """Files behind the newest commit go; files of commits and of others than collectors stay."""
    store = opened(tmp_path)
    store.commit(batch(flows(1)))
    store.commit(batch(flows(1, first=1)))
    keep = files(tmp_path, "segments")
    stay = ["keeper-w0-00000009-0000.parquet", "readme.txt", "scan-w0-00000001.parquet"]
    go = [f"{WRITER.name}-00000003.parquet", "20260101T000000000001Z-w0-00000001.parquet"]
    for name in stay + go:
        (tmp_path / "segments" / name).write_bytes(b"half")
    begun = writer_session.begin_session(tmp_path, 0)
    assert (begun.removed, begun.warnings, begun.workers) == (2, (), 1)
    assert files(tmp_path, "segments") == sorted([*keep, *stay])
    (past,) = writer_session.find_resumable(snapshot(tmp_path))
    assert read_state(tmp_path, past.states[0]) == b"{}"


def test_a_damaged_manifest_removes_nothing(tmp_path: Path) -> None:
    """Where a commit cannot be read, files it may have named are left, and the damage is told."""
    store = opened(tmp_path)
    for first in range(3):
        store.commit(batch(flows(1, first=first)))
    path = tmp_path / commit_name(WRITER, 2)
    path.write_bytes(path.read_bytes().replace(b'"rows":1', b'"rows":2'))
    begun = writer_session.begin_session(tmp_path, 0)
    assert begun.removed == 0
    assert len(files(tmp_path, "segments")) == 3
    assert "1 commits of 20260101T000000000000Z-w0 are damaged" in begun.warnings[0]
    assert any("damaged" in warning for warning in read_lake(tmp_path).notes.warnings)
    assert read_lake(tmp_path).flows.frame["bytes"].tolist() == [0, 2]


def test_one_collector_at_a_time(tmp_path: Path) -> None:
    """A folder that is in use is refused until its holder lets go."""
    held = writer_session.begin_session(tmp_path, 0)
    with pytest.raises(InputError, match="another collector writes there"):
        writer_session.begin_session(tmp_path, 0)
    os.close(held.lock)
    again = writer_session.begin_session(tmp_path, 0)
    assert again.name >= held.name
    os.close(again.lock)


def states(lake: Path, before: str = "") -> list[tuple[int, dict[int, bytes]]]:
    """What workers can go on with: the number of workers and the content of the states, newest session first."""
    past = writer_session.find_resumable(snapshot(lake), before)
    return [(one.workers, {w: read_state(lake, name) for w, name in one.states.items()}) for one in past]


def leave(lake: Path, session: str, workers: int, *committed: int) -> None:
    """Have some workers of a session commit; the states say which session's they are."""
    for worker in committed:
        opened(lake, Writer(session, worker), workers).commit(CommitBatch(1, [], (), f"{session} {worker}".encode()))


def test_states_of_as_many_workers_replace_one_another(tmp_path: Path) -> None:
    """A worker goes on behind its newest commit; older sessions than one with all workers' do not matter."""
    leave(tmp_path, NAMES[0], 2, 0, 1)
    leave(tmp_path, NAMES[1], 1, 0)
    leave(tmp_path, NAMES[2], 3, 0, 1, 2)
    leave(tmp_path, NAMES[3], 3, 0, 2)
    opened(tmp_path, Writer("scan", 0), 7).commit(batch(flows(1), state=b""))
    begun = writer_session.begin_session(tmp_path, 0)
    assert begun.workers == 3
    newer = {worker: f"{NAMES[3]} {worker}".encode() for worker in (0, 2)}
    assert states(tmp_path) == [(3, newer), (3, {1: f"{NAMES[2]} 1".encode()})]
    assert len(files(tmp_path, "state")) == 3


def test_states_of_other_numbers_of_workers(tmp_path: Path) -> None:
    """Where not all workers of the newest session committed, the session before it matters, however many it had."""
    leave(tmp_path, NAMES[0], 1, 0)
    leave(tmp_path, NAMES[1], 2, 0, 1)
    leave(tmp_path, NAMES[2], 4, 3)
    begun = writer_session.begin_session(tmp_path, 0)
    assert begun.workers == 4
    older = (2, {worker: f"{NAMES[1]} {worker}".encode() for worker in (0, 1)})
    assert states(tmp_path) == [(4, {3: f"{NAMES[2]} 3".encode()}), older]
    assert states(tmp_path, before=NAMES[2]) == [older]
    assert len(files(tmp_path, "state")) == 3


def test_states_of_sources(tmp_path: Path) -> None:
    """Topics and mirrors, which are numbered behind the workers, go on whatever the number of workers was."""
    leave(tmp_path, NAMES[0], 1, 0, 1, 2)
    leave(tmp_path, NAMES[1], 4, 0, 1, 2, 3, 4)
    begun = writer_session.begin_session(tmp_path, 0)
    assert [read_state(tmp_path, name) for name in begun.source_states] == [
        f"{NAMES[1]} 4".encode(),
        f"{NAMES[0]} 2".encode(),
    ]
    assert len(files(tmp_path, "state")) == 6


def test_names_grow(tmp_path: Path) -> None:
    """A session's name is greater than that of the one before, also where the clock went back."""
    begun = writer_session.begin_session(tmp_path, 0)
    assert writer_session.next_name(begun.name) > begun.name
    future = "29990101T000000000000Z"
    assert writer_session.next_name(future) == f"{future}0"
