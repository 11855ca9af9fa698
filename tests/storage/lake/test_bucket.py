"""The same lake in a bucket."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from storage.lake.compaction import SETTLE_NS
from storage.lake.compactor import Compactor
from storage.lake.lake_reader import read_kind, read_lake
from storage.lake.lake_writer import LakeWriter, read_state
from storage.lake.object_names import COMPACTOR, Writer, commit_name
from storage.lake.object_store import ObjectStore, open_store
from storage.lake.selection import Selection, select
from storage.lake.snapshot import snapshot, write_checkpoint
from tests.storage.lake.s3_server import new_bucket, s3_server
from tests.storage.records import SECOND_NS, batch, counters, flows

WRITER = Writer("20260101T000000000000Z", 0)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """Where an S3 server answers."""
    with s3_server() as found:
        yield found


@pytest.fixture
def bucket(port: int, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    """A prefix of a new bucket."""
    return open_store(new_bucket(port, monkeypatch))


def kept(place: ObjectStore) -> list[int]:
    """The running numbers of all committed flow records."""
    return sorted(int(number) for number in read_lake(place).flows.frame["bytes"])


def test_commits_are_read(bucket: ObjectStore) -> None:
    """Records, counters and state come back; a writer goes on behind its newest commit."""
    LakeWriter(bucket, WRITER, 1).commit(batch(flows(10), counters(2), until=4, state=b"templates"))
    store = LakeWriter(bucket, WRITER, 1)
    assert store.newest is not None
    assert read_state(bucket, store.newest.state) == b"templates"
    store.commit(batch(flows(5, first=10)))
    assert kept(bucket) == list(range(15))
    assert len(read_kind(bucket, "counters")[0]) == 2
    assert read_lake(bucket).notes.warnings == ()


def test_a_lake_is_kept_in_a_bucket(bucket: ObjectStore) -> None:
    """Segments are packed, replaced ones and covered commits go, and what counts stays the same."""
    store = LakeWriter(bucket, WRITER, 1)
    for number in range(4):
        store.commit(batch(flows(500, first=number * 500)))
    now_ns = [max(segment.written_ns for segment in snapshot(bucket).segments.values()) + SETTLE_NS]
    compactor = Compactor(bucket, {}, clock=lambda: now_ns[0])
    assert compactor.run_round().packed_rows == 2000
    write_checkpoint(bucket, snapshot(bucket))
    now_ns[0] += 10**18
    assert compactor.run_round().removed_files == 4 + 5
    assert [found.name for found in bucket.list("manifest")] == []
    assert kept(bucket) == list(range(2000))
    assert all(segment.group >= 0 for segment in snapshot(bucket).segments.values())
    found = select(bucket, "flows", Selection(start_ns=100 * SECOND_NS, end_ns=110 * SECOND_NS, columns=("bytes",)))
    assert sorted(found.frame["bytes"].tolist()) == list(range(100, 110))


def test_a_name_is_used_once(bucket: ObjectStore) -> None:
    """A commit of the same number is refused where the first one is visible."""
    bucket.put([(commit_name(COMPACTOR, 1), b"first")])
    with pytest.raises(FileExistsError):
        bucket.put([(commit_name(COMPACTOR, 1), b"second")])
    assert bucket.read(commit_name(COMPACTOR, 1)) == b"first"


def test_what_was_not_committed_goes(bucket: ObjectStore) -> None:
    """Segments of an interrupted commit are removed by the writer's successor."""
    store = LakeWriter(bucket, WRITER, 1)
    store.commit(batch(flows(3)))
    bucket.put([(f"segments/flows/1970-01-01T00/{WRITER.name}-00000002.parquet", b"half")])
    LakeWriter(bucket, WRITER, 1).commit(batch(flows(2, first=3)))
    assert kept(bucket) == list(range(5))
