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
from tests.storage.lake.test_lake_writer import WRITER, files, opened
from tests.storage.records import batch, flows


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
    assert read_state(tmp_path, begun.states[0]) == b"{}"


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


def test_states_are_those_of_as_many_workers(tmp_path: Path) -> None:
    """A worker goes on behind its newest commit since the number of workers last changed; others do not matter."""
    names = [f"20260101T00000000000{n}Z" for n in range(4)]
    for name, workers in zip(names, (2, 1, 3, 3), strict=True):
        for worker in range(workers):
            if (name, worker) != (names[3], 1):
                opened(tmp_path, Writer(name, worker), workers).commit(CommitBatch(1, [], (), name.encode()))
    opened(tmp_path, Writer("scan", 0), 7).commit(batch(flows(1), state=b""))
    begun = writer_session.begin_session(tmp_path, 0)
    assert begun.workers == 3
    expected = [names[n].encode() for n in (3, 2, 3)]
    assert [read_state(tmp_path, begun.states[worker]) for worker in range(3)] == expected
    assert len(files(tmp_path, "state")) == 3
