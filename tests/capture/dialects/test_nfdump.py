"""nfdump's CSV: what it wrote of our own export datagrams, and rows under the headers of its versions."""

from pathlib import Path

import pytest

from capture.reader import read_flows
from datamodel.errors import InputError
from datamodel.telemetry.ingest_result import IngestResult
from tests.capture.exported import netflow5, sflow_sums, sums
from tests.capture.frames import save

COLLECTORS = Path(__file__).parents[2] / "data" / "collectors"
START = 1_795_188_348 * 10**9  # 2026-11-20 15:25:48 UTC
SECOND, MS = 10**9, 10**6
SCALED = "rows are taken as scaled by nfdump, which scales by the rates it learnt and not by others"
ZONELESS = "rows have times without a zone; taken as UTC (run nfdump with TZ=UTC)"

SHORT = "ts,te,td,sa,da,sp,dp,pr,flg,fwd,stos,ipkt,ibyt,opkt,obyt,in,out,sas,das,dir,ra,eng,exid,tr"
LONG = "firstSeen,duration,proto,srcAddr,srcPort,dstAddr,dstPort,packets,bytes,bpp"
FAST = ("cnt,af,firstSeen,lastSeen,proto,srcAddr,srcPort,dstAddr,dstPort,srcAS,dstAS,input,output,flags,srcTos,"
        "packets,bytes")  # fmt: skip


def short(**changes: str) -> str:
    """A row under the short header."""
    row = {
        "ts": "2026-11-20 15:25:48", "te": "2026-11-20 15:26:21", "td": "32.700", "sa": "10.0.0.1", "da": "10.0.0.2",
        "sp": "49152", "dp": "4791", "pr": "UDP", "flg": "...AP.SF", "fwd": "0", "stos": "2", "ipkt": "6",
        "ibyt": "9000", "opkt": "0", "obyt": "0", "in": "8", "out": "6", "sas": "0", "das": "0", "dir": "0",
        "ra": "192.0.2.1", "eng": "0/0", "exid": "3", "tr": "2026-11-20 15:26:22.157", **changes,
    }  # fmt: skip
    return ",".join(row[name] for name in SHORT.split(","))


def read(folder: Path, *lines: str) -> IngestResult:
    """What these lines read as."""
    return read_flows(save(folder, "\n".join(lines).encode() + b"\n", "n.csv"))


def values(reading: IngestResult, *names: str) -> list[int]:
    """Columns of the first record."""
    return [int(reading.flows.frame[name][0]) for name in names]


def test_short_names(tmp_path: Path) -> None:
    """Up to nfdump 1.7.4: every column that we carry, scaled by the sender, direction 0 not believed."""
    reading = read(tmp_path, SHORT, short())
    assert reading.flows.addresses == ("10.0.0.1", "10.0.0.2", "192.0.2.1")
    names = ("src_addr", "dst_addr", "sampler_address", "src_port", "dst_port", "proto", "tcp_flags", "ip_tos",
             "packets", "bytes", "in_if", "out_if", "flow_direction", "sampling_rate", "prescaled",
             "time_received_ns")  # fmt: skip
    received = START + 34 * SECOND + 157 * MS
    assert values(reading, *names) == [0, 1, 2, 49152, 4791, 17, 27, 2, 6, 9000, 8, 6, 255, 1, 1, received]
    assert reading.notes.warnings == (
        "n.csv: columns ignored: das, eng, exid, fwd, opkt, sas",
        f"n.csv: 1 {SCALED}",
        f"n.csv: 1 {ZONELESS}",
        "n.csv: 1 rows have times cut to whole seconds; their uncertainty is kept",
    )


def test_cut_times_are_placed_where_they_can_be(tmp_path: Path) -> None:
    """Start and end are cut to seconds and the duration is not: the start lies in 48.3-49 s; its middle is taken."""
    reading = read(tmp_path, SHORT, short())
    start, end, off = values(reading, "time_flow_start_ns", "time_flow_end_ns", "time_uncertainty_ns")
    assert (start, end - start, off) == (START + 650 * MS, 32_700 * MS, 350 * MS)


def test_long_names(tmp_path: Path) -> None:
    """Since nfdump 1.7.5: times with milliseconds, a duration instead of an end."""
    reading = read(tmp_path, LONG, "2026-11-20 15:25:48.391,00:01:02.500,TCP,10.0.0.1,1,10.0.0.2,2,3,400,133")
    names = ("time_flow_start_ns", "time_flow_end_ns", "time_uncertainty_ns", "proto", "packets", "bytes", "prescaled")
    start = START + 391 * MS
    assert values(reading, *names) == [start, start + 62_500 * MS, 0, 6, 3, 400, 1]
    assert values(reading, "sampler_address") == [-1]


def test_fast_form(tmp_path: Path) -> None:
    """The form with numbers for times, in milliseconds: nothing is without a zone."""
    reading = read(tmp_path, FAST, "1,2,1795188348391,1795188348400,6,10.0.0.1,1,10.0.0.2,2,0,0,8,6,...AP.SF,2,3,400")
    start = START + 391 * MS
    assert values(reading, "time_flow_start_ns", "time_flow_end_ns", "in_if") == [start, start + 9 * MS, 8]
    assert reading.notes.warnings == ("n.csv: columns ignored: af, cnt, dstAS, srcAS", f"n.csv: 1 {SCALED}")


@pytest.mark.parametrize(
    "trailer",
    [("Summary", "flows,bytes,packets,avg_bps,avg_pps,avg_bpp", "1,9000,6,23185,0,6463"), ("No matching flows",),
     ("Summary: total flows: 1, total bytes: 9000, total packets: 6, avg bps: 1, avg pps: 0, avg bpp: 59",
      "Time window: 2026-11-20 15:25:48.000 - 2026-11-20 15:26:21.000", "Total flows processed: 1, passed: 1")],
)  # fmt: skip
def test_the_summary_is_no_row(tmp_path: Path, trailer: tuple[str, ...]) -> None:
    """What nfdump prints below the rows is passed over; any other line of that kind is counted."""
    reading = read(tmp_path, SHORT, short(), *trailer)
    assert (len(reading.flows), reading.notes.rejected) == (1, {})
    broken = read(tmp_path, SHORT, short(), "10.0.0.1,10.0.0.2", *trailer)
    assert broken.notes.rejected == {"row: wrong number of columns": 1}


@pytest.mark.parametrize(
    ("change", "column", "value"),
    [({"dp": "8.0", "pr": "ICMP"}, "dst_port", 0), ({"ra": "::"}, "sampler_address", -1),
     ({"dir": "1"}, "flow_direction", 1),
     ({"flg": ".AP.SF"}, "tcp_flags", 27), ({"flg": "27"}, "tcp_flags", 27), ({"flg": "0x1b"}, "tcp_flags", 27)],
)  # fmt: skip
def test_values_of_a_kind_of_their_own(tmp_path: Path, change: dict[str, str], column: str, value: int) -> None:
    """ICMP's type and code are no port, :: is no exporter, flags come as letters or numbers."""
    reading = read(tmp_path, SHORT, short(**change))
    assert (values(reading, column), reading.notes.rejected) == ([value], {})


def test_bytes_of_the_other_direction_are_told(tmp_path: Path) -> None:
    """A bidirectional row counts the way back beside; that is left out and said."""
    reading = read(tmp_path, SHORT, short(), short(obyt="12"))
    assert reading.bytes == 18_000
    assert "n.csv: 1 rows also count bytes of another direction (obyt); those are left out" in reading.notes.warnings


def test_uptimes_are_no_dates(tmp_path: Path) -> None:
    """Times that nfdump could not place begin in 1970; such rows are rejected, and it is said why."""
    reading = read(tmp_path, SHORT, short(), short(ts="1970-01-01 00:26:33", te="1970-01-01 00:26:33"))
    assert reading.notes.rejected == {"row: time_flow_start_ns is missing": 1}
    doubt = "rows start before 1990, which is an uptime and no date; that is taken as missing"
    assert f"n.csv: 1 {doubt}" in reading.notes.warnings


def test_statistics_are_no_flow_records(tmp_path: Path) -> None:
    """The table of `nfdump -s` has no pairs and is refused in one line."""
    with pytest.raises(InputError, match="neither a packet capture"):
        read(
            tmp_path, "ts,te,td,pr,val,fl,flP,ipkt,ipktP,ibyt,ibytP,ipps,ibps,ibpp", "1,2,3,4,5,6,7,8,9,10,11,12,13,14"
        )


def test_netflow5_as_it_was_exported() -> None:
    """What nfdump printed of NetFlow v5 is what the datagram says, and its times are within what they claim."""
    reading = read_flows(COLLECTORS / "nfdump-netflow.csv")
    expected, frame, book = netflow5(), reading.flows.frame, reading.flows.addresses
    assert sums(reading.flows) == {key: record[:2] for key, record in expected.items()}
    for i in range(len(frame)):
        key = (
            book[frame["src_addr"][i]],
            book[frame["dst_addr"][i]],
            int(frame["src_port"][i]),
            int(frame["dst_port"][i]),
        )
        _, _, first_ms, last_ms = expected[key]
        off = frame["time_uncertainty_ns"][i]
        assert abs(frame["time_flow_start_ns"][i] - first_ms * MS) <= off
        assert abs(frame["time_flow_end_ns"][i] - last_ms * MS) <= off


def test_sflow_as_it_was_exported() -> None:
    """What sfcapd kept are the samples, scaled by their rate, 32."""
    reading = read_flows(COLLECTORS / "nfdump-sflow.csv")
    assert sums(reading.flows) == {key: (32 * size, 32 * packets) for key, (size, packets) in sflow_sums().items()}
