"""The same lake in a bucket."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from storage.keeper import Keeper
from storage.layout import KEEPER, Writer, commit_name
from storage.packing import SETTLE_NS
from storage.place import Place, place_at
from storage.reading import read, read_kind
from storage.selecting import Selection, select
from storage.snapshot import snapshot, write_checkpoint
from storage.store import Store, read_state
from tests.storage.records import SECOND_NS, batch, counters, flows
from tests.storage.s3_server import new_bucket, s3_server

WRITER = Writer("20260101T000000000000Z", 0)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """Where an S3 server answers."""
    with s3_server() as found:
        yield found


@pytest.fixture
def bucket(port: int, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A prefix of a new bucket."""
    return place_at(new_bucket(port, monkeypatch))


def kept(place: Place) -> list[int]:
    """The running numbers of all committed flow records."""
    return sorted(int(number) for number in read(place).flows.frame["bytes"])


def test_commits_are_read(bucket: Place) -> None:
    """Records, counters and state come back; a writer goes on behind its newest commit."""
    Store(bucket, WRITER, 1).commit(batch(flows(10), counters(2), until=4, state=b"templates"))
    store = Store(bucket, WRITER, 1)
    assert store.newest is not None
    assert read_state(bucket, store.newest.state) == b"templates"
    store.commit(batch(flows(5, first=10)))
    assert kept(bucket) == list(range(15))
    assert len(read_kind(bucket, "counters")[0]) == 2
    assert read(bucket).notes.warnings == ()


def test_a_lake_is_kept_in_a_bucket(bucket: Place) -> None:
    """Segments are packed, replaced ones and covered commits go, and what counts stays the same."""
    store = Store(bucket, WRITER, 1)
    for number in range(4):
        store.commit(batch(flows(500, first=number * 500)))
    now_ns = [max(segment.written_ns for segment in snapshot(bucket).segments.values()) + SETTLE_NS]
    keeper = Keeper(bucket, {}, clock=lambda: now_ns[0])
    assert keeper.tend().packed_rows == 2000
    write_checkpoint(bucket, snapshot(bucket))
    now_ns[0] += 10**18
    assert keeper.tend().removed_files == 4 + 5
    assert [found.name for found in bucket.list("manifest")] == []
    assert kept(bucket) == list(range(2000))
    assert all(segment.group >= 0 for segment in snapshot(bucket).segments.values())
    found = select(bucket, "flows", Selection(start_ns=100 * SECOND_NS, end_ns=110 * SECOND_NS, columns=("bytes",)))
    assert sorted(found.frame["bytes"].tolist()) == list(range(100, 110))


def test_a_name_is_used_once(bucket: Place) -> None:
    """A commit of the same number is refused where the first one is visible."""
    bucket.put([(commit_name(KEEPER, 1), b"first")])
    with pytest.raises(FileExistsError):
        bucket.put([(commit_name(KEEPER, 1), b"second")])
    assert bucket.read(commit_name(KEEPER, 1)) == b"first"


def test_what_was_not_committed_goes(bucket: Place) -> None:
    """Segments of an interrupted commit are removed by the writer's successor."""
    store = Store(bucket, WRITER, 1)
    store.commit(batch(flows(3)))
    bucket.put([(f"segments/flows/1970-01-01T00/{WRITER.name}-00000002.parquet", b"half")])
    Store(bucket, WRITER, 1).commit(batch(flows(2, first=3)))
    assert kept(bucket) == list(range(5))
