"""Where a collector may keep records, and that it can have them packed: folders, buckets, `--compact`."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from datamodel.errors import InputError
from flowprism.cli.actions.service import collect
from storage.lake.compactor import Compactor
from storage.lake.lake_reader import read_lake
from storage.lake.snapshot import snapshot
from tests.flowprism.collector.fake import datagram, records_of
from tests.flowprism.collector.running import Collector, sender
from tests.storage.lake.s3_server import new_bucket, s3_server


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A prefix of a new bucket."""
    with s3_server() as port:
        yield new_bucket(port, monkeypatch)


@pytest.mark.slow
def test_a_bucket_takes_what_a_folder_takes(tmp_path: Path, address: str) -> None:
    """Records, and what decoding remembers over a restart, are in the bucket; lock and status in the folder."""
    options = {"out": address, "folder": str(tmp_path)}
    for first in (0, 5):
        with Collector(tmp_path, options=options) as collector, sender() as sock:
            for number in range(first, first + 5):
                sock.sendto(datagram(number, 2), ("127.0.0.1", collector.port()))
            collector.until(lambda: collector.totals()["durable"] == 5)
            said = collector.stop()
            assert "lost by sequence number: none" in said
            assert "writing to s3://bucket1/some/prefix\n" in said
    wanted = sorted(volume for number in range(10) for volume in records_of(number, 2))
    assert sorted(read_lake(address).flows.frame["bytes"].tolist()) == wanted
    assert {path.name for path in tmp_path.iterdir()} == {"lock", "status.json"}


def test_a_bucket_needs_a_folder_beside_it() -> None:
    """Lock and status cannot be in a bucket; that is said in one line, without what is secret in the address."""
    lake = collect.Lake("s3://key:secret@bucket/lake", None, keep=False)
    with pytest.raises(InputError, match="--folder DIR is missing") as caught:
        collect.run_collector(lake, collect.Inputs(), collect.Work("1", 5.0, thinning=True), (), ())
    assert str(caught.value).startswith("--out s3://bucket/lake: ")


@pytest.mark.slow
def test_a_kept_lake_is_packed_while_it_is_collected(tmp_path: Path) -> None:
    """With `keep` a compactor works beside the workers, is started again where it dies, and ends with the collector."""
    with Collector(tmp_path, options={"keep": True}) as collector, sender() as sock:
        sock.sendto(datagram(0, 2), ("127.0.0.1", collector.port()))
        collector.until(lambda: len(collector.children("collector.processes.compactor_process")) == 1)
        (first,) = collector.children("collector.processes.compactor_process")
        collector.until(lambda: _is_kept(tmp_path))
        os.kill(first, signal.SIGKILL)
        collector.until(lambda: collector.children("collector.processes.compactor_process") not in ([], [first]))
        collector.until(lambda: collector.totals()["durable"] == 1)
        said = collector.stop()
    assert "its compactor ended (signal 9); again in 0.1 s" in said
    assert not _is_kept(tmp_path)
    assert len(snapshot(tmp_path).segments) == 1


def _is_kept(lake: Path) -> bool:
    """Whether a compactor has hold of a lake."""
    try:
        Compactor(lake, {}).close()
    except InputError:
        return True
    return False
