"""The captures in tests/data, against results worked out by hand."""

import gzip
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from capture.reader import read_flows
from tests.data.capture.make_captures import CAPTURES, START_NS

FOLDER = Path(__file__).parents[1] / "data" / "capture"
US = 1000

# A row: source, start, end, packets, bytes, new payload, acknowledged; times in us after the start, 0 for no answer.
Row = tuple[str, int, int, int, int, int, int]


class Expected(NamedTuple):
    """What a capture should read as."""

    records: int
    exporters: tuple[str, ...]
    rejected: dict[str, int]
    rows: list[Row]


EXPECTED = {
    "roce-write-and-ack.pcap": Expected(
        9, (), {},
        [("10.0.0.1", 0, 3, 4, 3364, 3172, 20), ("10.0.0.2", 8, 20, 3, 156, 0, 0),
         ("10.0.0.1", 12, 13, 2, 1212, 0, 0)],
    ),
    "tcp-burst-and-ack.pcap.gz": Expected(
        22, (), {},
        [("10.0.0.1", 0, 9, 10, 89880, 89480, 900), ("10.0.0.2", 900, 2900, 2, 80, 0, 0),
         ("10.0.0.1", 2000, 2009, 10, 89880, 89480, 2900)],
    ),
    "erspan-leaf-and-spine.pcapng": Expected(
        5, ("192.0.2.1", "192.0.2.2"), {"duplicate packets (seen at several places)": 5},
        [("10.0.0.1", 0, 12, 5, 5200, 5000, 0)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CAPTURES)
def test_capture_is_what_its_script_makes(name: str) -> None:
    """The files in the folder and the script that makes them have not drifted apart."""
    made, stored = CAPTURES[name](), (FOLDER / name).read_bytes()
    if name.endswith(".gz"):  # how well it packs is zlib's affair
        made, stored = gzip.decompress(made), gzip.decompress(stored)
    assert made == stored


@pytest.mark.parametrize("name", EXPECTED)
def test_capture_reads_as_worked_out(name: str) -> None:
    """Records, exporters, counts and every row are those worked out by hand."""
    reading = read_flows(FOLDER / name)
    expected = EXPECTED[name]
    frame, book = reading.flows.frame, reading.flows.addresses
    assert (reading.records, reading.exporters, reading.notes.rejected) == expected[:3]
    times = [
        np.where(frame[column] > 0, (frame[column] - START_NS) // US, 0)
        for column in ("time_flow_start_ns", "time_flow_end_ns", "time_acknowledged_ns")
    ]
    sources = [book[code] for code in frame["src_addr"]]
    rows = zip(sources, *times[:2], frame["packets"], frame["bytes"], frame["payload_bytes"], times[2], strict=True)
    assert list(rows) == expected.rows
