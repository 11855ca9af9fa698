"""Any input to flow records: recognition, errors, several files, and the captures beside the checkout."""

import gzip
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import zstandard

from capture.reader import read_all, read_flows
from capture.records.record_files import write_records
from datamodel.errors import InputError
from datamodel.telemetry.flows import Flows
from tests.capture.frames import erspan2, pcap, save, tcp_frame

T = 1_700_000_000 * 10**9
COLLECTED = Path(__file__).parent.parent / "data" / "collectors"
CAPTURE = pcap([(T + i * 1000, erspan2(tcp_frame(1 + i * 100, 100), "192.0.2.1", 5)) for i in range(5000)])


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
def test_captures_are_recognised_by_content(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    """A capture is one whatever its name says, compressed or not."""
    reading = read_flows(save(tmp_path, pack(CAPTURE), "flows.csv"))
    assert reading.records == 5000
    assert reading.bytes == 5000 * 140
    assert reading.flows.frame["payload_bytes"].sum() == 500_000


def test_records_are_recognised_by_content(tmp_path: Path) -> None:
    """Flow records written under one name and read under another are the same; no exporter is lost."""
    first = read_flows(save(tmp_path, CAPTURE))
    for form in ("parquet", "csv.gz", "jsonl.zst"):
        write_records(first.flows, tmp_path / f"x.{form}")
        again = read_flows((tmp_path / f"x.{form}").rename(tmp_path / "anything.pcap"))
        assert again.exporters == ("192.0.2.1",)
        assert again.records == len(first.flows)
        assert (again.flows.frame["payload_bytes"] == first.flows.frame["payload_bytes"]).all()


@pytest.mark.parametrize(
    "content",
    [b"just some text\n", b"a,b,c\n1,2,3\n", bytes(1000), b"<?xml version='1.0'?>", b"[1, 2]", b"\x1f\x8b", b"x"],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    """What is no capture and no table of flow records is refused in one line that names the file."""
    path = save(tmp_path, content, "mirror.pcap")
    with pytest.raises(InputError) as error:
        read_flows(path)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (gzip.compress(b"", mtime=0), "holds nothing once unpacked"),
        (gzip.compress(CAPTURE, mtime=0)[:12], "gzip data ends early (truncated file); what precedes the end was read"),
    ],
)
def test_nothing_inside_is_an_error(tmp_path: Path, content: bytes, cause: str) -> None:
    """A compressed file that yields no byte is refused, and the reason is why it yields none."""
    path = save(tmp_path, content, "mirror.pcap.gz")
    with pytest.raises(InputError) as error:
        read_flows(path)
    assert str(error.value) == f"{path}: {cause}"


def test_truncated_gzip_gives_what_it_holds(tmp_path: Path) -> None:
    """A capture whose gzip stream ends early is read up to there, with a warning."""
    packed = gzip.compress(CAPTURE)
    reading = read_flows(save(tmp_path, packed[: len(packed) // 2], "mirror.pcap.gz"))
    assert 0 < reading.records < 5000
    assert "ends early" in reading.notes.warnings[0]


def test_several_files_are_one_feed(tmp_path: Path) -> None:
    """Rows follow one another, address books are merged, counts add up and progress runs over all files."""
    a = save(tmp_path, CAPTURE, "a.pcap")
    b = save(tmp_path, pcap([(T, tcp_frame(1, 10)), (T + 1, b"short")]), "b.pcap")
    told: list[tuple[int, int]] = []
    both = read_all([a, b, b], lambda done, total: told.append((done, total)))
    one, other = read_flows(a), read_flows(b)
    assert both.records == one.records + 2 * other.records
    assert both.bytes == one.bytes + 2 * other.bytes
    assert both.notes.rejected == {"cut off before the network header": 2}
    assert both.flows.addresses == ("10.0.0.1", "10.0.0.2", "192.0.2.1")
    assert both.exporters == ("192.0.2.1",)
    size = a.stat().st_size + 2 * b.stat().st_size
    assert told[-1] == (size, size)


@pytest.mark.parametrize(("name", "metered"), [
    ("goflow2.bin", True), ("goflow2.jsonl", True), ("nfdump-netflow.csv", True), ("pmacct-nf9.json", True),
    ("nf9.pcap", True), ("sflow.pcap", False),
])  # fmt: skip
def test_what_a_meter_counted_is_known_whoever_collected_it(name: str, metered: bool, tmp_path: Path) -> None:
    """A collector's records of several packets are a meter's, samples are not; records of nobody knows whom neither."""
    found = read_flows(COLLECTED / name)
    assert found.metered is metered
    for form in (".parquet", ".csv", ".jsonl"):
        write_records(found.flows, tmp_path / f"flows{form}")
        assert read_flows(tmp_path / f"flows{form}").metered is metered
    unmarked = Flows(found.flows.frame.without({"metered"}), found.flows.addresses)
    write_records(unmarked, tmp_path / "unmarked.parquet")
    assert not read_flows(tmp_path / "unmarked.parquet").metered
    assert read_all([COLLECTED / "sflow.pcap", COLLECTED / name]).metered is metered


def test_no_files_is_an_error() -> None:
    """Without a file there is nothing to read."""
    with pytest.raises(InputError, match="no input files"):
        read_all([])


def test_an_abandoned_read_leaves_no_thread(tmp_path: Path) -> None:
    """Refusing a file closes it and ends the thread that read ahead (a file left open would warn, hence fail)."""
    path = save(tmp_path, b"x" * 10_000_000)
    before = set(threading.enumerate())
    for _ in range(3):
        with pytest.raises(InputError):
            read_flows(path)
    left = [thread for thread in threading.enumerate() if thread not in before]
    for thread in left:
        thread.join(10)
    assert not any(thread.is_alive() for thread in left)


@pytest.mark.parametrize("name", ["s1-healthy", "s4-two-jobs", "s7-fsdp"])
def test_mirrors_beside_the_checkout(shared: Path, name: str) -> None:
    """On real TCP mirrors nothing is rejected, rows are short, and nearly every row's acknowledgement is found."""
    reading = read_flows(shared / "captures" / name / "mirror.pcap.gz")
    frame = reading.flows.frame
    data = frame.take(frame["payload_bytes"] > 0)
    assert reading.notes.rejected == {}
    assert (data["time_flow_end_ns"] - data["time_flow_start_ns"]).max() <= 5_000_000
    known = data.take(data["time_acknowledged_ns"] > 0)
    assert len(known) > 0.99 * len(data)
    assert (known["time_acknowledged_ns"] >= known["time_flow_end_ns"]).all()
    assert np.median(known["time_acknowledged_ns"] - known["time_flow_end_ns"]) < 10_000_000
