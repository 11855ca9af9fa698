"""pmacct's JSON: what nfacctd and sfacctd wrote of our own export datagrams, and rows made by hand."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from capture.reader import read_flows
from datamodel.errors import InputError
from datamodel.telemetry.ingest_result import IngestResult
from tests.capture.exported import netflow5, sflow_sums, sums
from tests.capture.frames import save

COLLECTORS = Path(__file__).parents[2] / "data" / "collectors"
ROW = {
    "event_type": "purge", "peer_ip_src": "192.0.2.1", "iface_in": 8, "iface_out": 6, "ip_src": "10.0.0.1",
    "ip_dst": "10.0.0.2", "port_src": 49152, "port_dst": 4791, "tcp_flags": "18", "ip_proto": "udp", "tos": 2,
    "sampling_rate": 32, "timestamp_start": "2026-11-20T15:25:48.391000Z",
    "timestamp_end": "2026-11-20T15:25:50.153000Z", "timestamp_arrival": "2026-11-20T15:25:51.000000Z", "packets": 6,
    "bytes": 9000,
}  # fmt: skip
START, END, ARRIVAL = 1_795_188_348_391_000_000, 1_795_188_350_153_000_000, 1_795_188_351_000_000_000
ZERO = "0000-00-00 00:00:00.000000"


def read(folder: Path, rows: Iterable[dict[str, object]]) -> IngestResult:
    """What these rows read as."""
    return read_flows(save(folder, "".join(json.dumps(row) + "\n" for row in rows).encode(), "p.json"))


def values(reading: IngestResult, *names: str) -> list[int]:
    """Columns of the first record."""
    return [int(reading.flows.frame[name][0]) for name in names]


def test_every_key_has_its_column(tmp_path: Path) -> None:
    """A row with all keys becomes a record with their values; nothing is left to say."""
    reading = read(tmp_path, [ROW])
    assert reading.flows.addresses == ("10.0.0.1", "10.0.0.2", "192.0.2.1")
    assert values(reading, "src_addr", "dst_addr", "sampler_address") == [0, 1, 2]
    assert values(reading, "time_flow_start_ns", "time_flow_end_ns", "time_received_ns") == [START, END, ARRIVAL]
    names = ("src_port", "dst_port", "proto", "bytes", "packets", "sampling_rate", "prescaled", "in_if", "out_if",
             "ip_tos", "tcp_flags")  # fmt: skip
    assert values(reading, *names) == [49152, 4791, 17, 9000, 6, 32, 0, 8, 6, 2, 18]
    assert (reading.notes.rejected, reading.notes.warnings) == ({}, ())


def test_rate_one_is_scaled_and_doubted(tmp_path: Path) -> None:
    """A rate of 1 may be what renormalising left; one of 0 stays unknown, and so does one that was not asked for."""
    reading = read(tmp_path, [ROW | {"sampling_rate": 1}, ROW | {"sampling_rate": 0}])
    assert reading.flows.frame["prescaled"].tolist() == [True, False]
    assert reading.flows.frame["sampling_rate"].tolist() == [1, 0]
    assert reading.notes.warnings == (
        "p.json: 1 rows have sampling_rate 1: not sampled, or scaled by pmacct; taken as scaled",
    )
    without = read(tmp_path, [{key: value for key, value in ROW.items() if key != "sampling_rate"}])
    assert values(without, "sampling_rate", "prescaled") == [0, 0]
    assert without.notes.warnings == ("p.json: 1 rows have no sampling_rate; taken as unknown",)


@pytest.mark.parametrize(
    ("change", "span", "doubt"),
    [
        ({"timestamp_start": ZERO, "timestamp_end": ZERO}, (ARRIVAL, ARRIVAL),
         "have no time of the exporter; taken as moments at their arrival"),
        ({"timestamp_end": ZERO}, (START, START), "start but have no end; taken as moments"),
        ({"timestamp_start": None, "timestamp_arrival": None, "stamp_inserted": "1795188300",
          "stamp_updated": "1795188351"}, (1_795_188_300 * 10**9, 1_795_188_351 * 10**9),
         "have only pmacct's time bins (stamp_inserted, stamp_updated)"),
        ({"timestamp_start": "2026-11-20 15:25:48.391"}, (START, END),
         "have times without a zone; taken as UTC (pmacct: timestamps_utc, timestamps_rfc3339)"),
    ],
)  # fmt: skip
def test_times_that_are_not_there(tmp_path: Path, change: dict[str, object], span: tuple[int, int], doubt: str) -> None:
    """The next best time stands in, and the row is doubted."""
    reading = read(tmp_path, [ROW | change])
    assert tuple(values(reading, "time_flow_start_ns", "time_flow_end_ns")) == span
    assert f"p.json: 1 rows {doubt}" in reading.notes.warnings


def test_rows_without_any_time_are_rejected(tmp_path: Path) -> None:
    """Without a time a row says nothing that can be placed."""
    timeless = ROW | {"timestamp_start": ZERO, "timestamp_end": ZERO, "timestamp_arrival": ZERO}
    reading = read(tmp_path, [timeless, ROW])
    assert (len(reading.flows), reading.notes.rejected) == (1, {"row: time_flow_start_ns is missing": 1})


def test_purge_events_are_no_rows(tmp_path: Path) -> None:
    """The markers around a purge are passed over and not counted as rejected."""
    marks: list[dict[str, object]] = [{"event_type": "purge_init", "writer_id": "p/1"}, ROW,
             {"event_type": "purge_close", "writer_id": "p/1", "purged_entries": 1}]  # fmt: skip
    reading = read(tmp_path, marks)
    assert (len(reading.flows), reading.notes.rejected) == (1, {})


def test_a_table_without_times_is_refused(tmp_path: Path) -> None:
    """The message names what pmacct has to be told to write."""
    with pytest.raises(InputError, match="'timestamp_start' or 'timestamp_arrival' or 'stamp_inserted' is missing"):
        read(tmp_path, [{key: value for key, value in ROW.items() if not key.startswith("timestamp")}])


def test_netflow5_as_it_was_exported() -> None:
    """What nfacctd printed of a NetFlow v5 datagram is what the datagram says, record by record."""
    reading = read_flows(COLLECTORS / "pmacct-netflow5.json")
    assert reading.notes.rejected == {}
    assert sums(reading.flows) == {key: record[:2] for key, record in netflow5().items()}


def test_sflow_as_it_was_exported() -> None:
    """What sfacctd printed of sFlow samples sums to the samples; scaled or not, the true volume is the same."""
    plain, scaled = (read_flows(COLLECTORS / f"pmacct-sflow{form}.json") for form in ("", "-renormalized"))
    assert sums(plain.flows) == sflow_sums()
    assert sums(scaled.flows) == {key: (32 * size, 32 * packets) for key, (size, packets) in sflow_sums().items()}
    assert plain.flows.frame["prescaled"].tolist() == [False] * len(plain.flows)
    assert scaled.flows.frame["prescaled"].tolist() == [True] * len(scaled.flows)
    assert (plain.notes.rejected, scaled.notes.rejected) == ({}, {})
