"""One time base out of all the ways to tell a time."""

import struct
from ipaddress import ip_address

import pytest

from tests.capture.netflow.sender import (
    NOW_NS,
    UNIX_S,
    Collector,
    Field,
    Row,
    ipfix,
    netflow9,
    one_set,
    options_template,
    template,
)

ENDS = ip_address("10.0.0.1").packed + ip_address("10.0.0.2").packed
NTP_S = UNIX_S + 2_208_988_800
MS, SECOND = 1_000_000, 1_000_000_000


def timed(fields: tuple[Field, ...], values: bytes, **header: int) -> tuple[Row, Collector]:
    """The row of one IPFIX record with these time fields."""
    collector = Collector()
    known = one_set(2, template(256, ((8, 4), (12, 4), (1, 1), *fields)))
    (row,) = collector.rows(ipfix(known, one_set(256, ENDS + b"\x01" + values), **header))
    return row, collector


def offsets(row: Row) -> tuple[int, int, int]:
    """Start and end in ns from now, and what they may be off."""
    start, end = row["time_flow_start_ns"] - NOW_NS, row["time_flow_end_ns"] - NOW_NS
    return start, end, row["time_uncertainty_ns"]


@pytest.mark.parametrize(
    ("fields", "values", "expected"),
    [
        (((150, 4), (151, 4)), struct.pack("!II", UNIX_S - 9, UNIX_S - 2), (-9 * SECOND, -2 * SECOND, SECOND // 2)),
        (((152, 8), (153, 8)), struct.pack("!QQ", UNIX_S * 1000 - 9, UNIX_S * 1000 - 2), (-9 * MS, -2 * MS, MS // 2)),
        (((154, 8), (155, 8)), struct.pack("!IIII", NTP_S - 9, 1 << 31, NTP_S, 0), (-8_500_000_000, 0, 500)),
        (((156, 8), (157, 8)), struct.pack("!IIII", NTP_S - 9, 1 << 30, NTP_S, 0), (-8_750_000_000, 0, 1)),
        (((158, 4), (159, 4)), struct.pack("!II", 9_000, 2_000), (491_000_000, 498_000_000, SECOND // 2)),
        (((152, 8), (161, 4)), struct.pack("!QI", UNIX_S * 1000 - 9, 7), (-9 * MS, -2 * MS, MS // 2)),
        (((153, 8), (162, 4)), struct.pack("!QI", UNIX_S * 1000, 7_000), (-7 * MS, 0, MS // 2)),
        (((323, 8),), struct.pack("!Q", UNIX_S * 1000 - 9), (-9 * MS, -9 * MS, MS // 2)),
        (((150, 4), (151, 4), (152, 8), (153, 8)),
         struct.pack("!IIQQ", UNIX_S - 1, UNIX_S, UNIX_S * 1000 - 9, UNIX_S * 1000), (-9 * MS, 0, MS // 2)),
    ],
    ids=["s", "ms", "NTP us", "NTP ns", "delta us", "ms + ms", "ms - us", "observed", "the finer of two"],
)  # fmt: skip
def test_absolute_times(fields: tuple[Field, ...], values: bytes, expected: tuple[int, int, int]) -> None:
    """Each unit is read by RFC 7011 section 6.1 and its granularity is its uncertainty."""
    row, collector = timed(fields, values)
    assert offsets(row) == expected
    assert [text for text in collector.account().warnings if "sampling" not in text] == []


def test_plain_counts_where_ntp_belongs() -> None:
    """Microseconds since 1970 sent as flowStartMicroseconds are recognised, and told."""
    row, collector = timed(((154, 8), (155, 8)), struct.pack("!QQ", UNIX_S * 10**6 - 9, UNIX_S * 10**6))
    assert offsets(row) == (-9_000, 0, 500)
    assert any("plain counts" in text for text in collector.account().warnings)


def test_uptime_of_a_v9_header() -> None:
    """Uptimes are counted back from the header's; the second the header leaves open is the uncertainty."""
    collector = Collector()
    known = one_set(0, template(256, ((8, 4), (12, 4), (1, 1), (22, 4), (21, 4))))
    data = one_set(256, ENDS + struct.pack("!BII", 1, 50_000, 59_000))
    (row,) = collector.rows(netflow9(known, data, uptime_ms=60_000))
    assert offsets(row) == (-9_500_000_000, -500_000_000, 500_500_000)


def test_headers_narrow_the_boot_time() -> None:
    """Headers at different fractions of a second narrow when the uptime began, and so the uncertainty."""
    collector = Collector()
    known = one_set(0, template(256, ((8, 4), (12, 4), (1, 1), (22, 4), (21, 4))))
    boot_ms = UNIX_S * 1000 - 60_000 + 137
    rows = []
    for i in range(100):
        uptime_ms = 60_000 + 97 * i
        data = one_set(256, ENDS + struct.pack("!BII", 1, uptime_ms - 2000, uptime_ms - 1000))
        second = (boot_ms + uptime_ms) // 1000
        rows += collector.rows(netflow9(known, data, uptime_ms=uptime_ms, unix_s=second, sequence=i))
    last = rows[-1]
    truth = (boot_ms + 60_000 + 97 * 99 - 2000) * MS
    assert last["time_uncertainty_ns"] < 25 * MS
    for row, i in zip(rows, range(100), strict=True):
        truth = (boot_ms + 60_000 + 97 * i - 2000) * MS
        assert abs(row["time_flow_start_ns"] - truth) <= row["time_uncertainty_ns"]


def test_uptime_wraps() -> None:
    """A flow that began before the uptime's 32 bits wrapped, exported after, lies before its export."""
    collector = Collector()
    known = one_set(0, template(256, ((8, 4), (12, 4), (1, 1), (22, 4), (21, 4))))
    data = one_set(256, ENDS + struct.pack("!BII", 1, (1 << 32) - 4_000, 500))
    (row,) = collector.rows(netflow9(known, data, uptime_ms=1_000))
    assert row["time_flow_end_ns"] - row["time_flow_start_ns"] == 4_500 * MS
    assert -SECOND < row["time_flow_end_ns"] - NOW_NS <= SECOND


def test_ipfix_uptime_with_init_time_in_the_record() -> None:
    """SystemInitTimeMilliseconds beside the uptimes is their base."""
    init_ms = UNIX_S * 1000 - 60_000
    row, _ = timed(((22, 4), (21, 4), (160, 8)), struct.pack("!IIQ", 50_000, 59_000, init_ms))
    assert offsets(row) == (-10_000 * MS, -1_000 * MS, MS)


def test_ipfix_uptime_with_init_time_from_options() -> None:
    """Options data tells it for all domains of an exporter."""
    collector = Collector()
    options = one_set(3, options_template(300, ((149, 4),), ((160, 8),)))
    told = one_set(300, struct.pack("!IQ", 0, UNIX_S * 1000 - 60_000))
    collector.rows(ipfix(options, told, domain=7))
    known = one_set(2, template(256, ((8, 4), (12, 4), (1, 1), (22, 4), (21, 4))))
    (row,) = collector.rows(ipfix(known, one_set(256, ENDS + struct.pack("!BII", 1, 50_000, 59_000))))
    assert offsets(row) == (-10_000 * MS, -1_000 * MS, MS)


def test_ipfix_uptime_without_any_base() -> None:
    """The newest uptime stands for the export; durations stay right, the doubt is told and wide."""
    row, collector = timed(((22, 4), (21, 4)), struct.pack("!II", 50_000, 59_000))
    assert row["time_flow_end_ns"] - row["time_flow_start_ns"] == 9_000 * MS
    assert row["time_uncertainty_ns"] == 60 * SECOND
    assert any("is unknown" in text for text in collector.account().warnings)


def test_no_times() -> None:
    """The time of export stands in, to within its second, and is told."""
    row, collector = timed((), b"")
    assert offsets(row) == (SECOND // 2, SECOND // 2, SECOND // 2)
    assert any("carry no times" in text for text in collector.account().warnings)


@pytest.mark.parametrize(
    ("start_ms", "end_ms", "expected", "said"),
    [
        (UNIX_S * 1000, UNIX_S * 1000 - 5, (-5 * MS, -5 * MS), "end before they begin"),
        (0, 0, (SECOND // 2, SECOND // 2), "impossible times"),
        (1 << 63, 1, (SECOND // 2, SECOND // 2), "impossible times"),
        (UNIX_S * 1000 + 10**10, UNIX_S * 1000 + 10**10, (SECOND // 2, SECOND // 2), "impossible times"),
        (10**12, 10**12 + 1, (10**18 - NOW_NS, 10**18 + MS - NOW_NS), "more than a day"),
    ],
    ids=["end before start", "1970", "beyond all bounds", "future", "a trace played back"],
)
def test_doubtful_times(start_ms: int, end_ms: int, expected: tuple[int, int], said: str) -> None:
    """What cannot be is put right and counted; what is only old is kept and counted."""
    row, collector = timed(((152, 8), (153, 8)), struct.pack("!QQ", start_ms, end_ms))
    assert offsets(row)[:2] == expected
    assert any(said in text for text in collector.account().warnings)


def test_clock_never_set() -> None:
    """An exporter in 1970 is dated by the time of receipt."""
    collector = Collector()
    known = one_set(0, template(256, ((8, 4), (12, 4), (1, 1), (22, 4), (21, 4))))
    data = one_set(256, ENDS + struct.pack("!BII", 1, 50_000, 59_000))
    (row,) = collector.rows(netflow9(known, data, uptime_ms=60_000, unix_s=61))
    assert offsets(row)[:2] == (-10_000 * MS, -1_000 * MS)
    assert any("never set" in text for text in collector.account().warnings)
