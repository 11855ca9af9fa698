"""The same lake in a bucket, by an S3 server on this machine: it proves what is asked of S3, not that S3 keeps it."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from itertools import count

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

SERVER = """
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
input()
"""
WRITER = Writer("20260101T000000000000Z", 0)
NUMBERS = count(1)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """Where an S3 server answers."""
    pytest.importorskip("moto", reason="no moto on this machine")
    command = [sys.executable, "-W", "ignore", "-c", SERVER]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, **pipes) as process:  # type: ignore[call-overload]
        yield int(process.stdout.readline())
        process.kill()


@pytest.fixture
def bucket(port: int, monkeypatch: pytest.MonkeyPatch) -> Place:
    """A prefix of a new bucket."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setitem(os.environ, name, "test")
    monkeypatch.setitem(os.environ, "AWS_EC2_METADATA_DISABLED", "true")
    name = f"bucket{next(NUMBERS)}"
    request = urllib.request.Request(f"http://127.0.0.1:{port}/{name}", method="PUT")
    urllib.request.urlopen(request).close()  # noqa: S310
    return place_at(f"s3://{name}/some/prefix?endpoint_override=http://127.0.0.1:{port}&region=us-east-1")


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
