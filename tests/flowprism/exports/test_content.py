"""What exporters send beside the usual: clocks that are off, both directions in one record, pseudowires."""

from __future__ import annotations

import json
import struct
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from simulate.export.feed_spec import Kind
from tests.capture.frames import ethernet, ip, pcap, tcp
from tests.capture.netflow.sender import UNIX_S, Field, ipfix, one_set, template
from tests.flowprism.exports.captures import EPOCH_S, RECORDS, capture, numbered
from tests.flowprism.exports.test_cut_files import run

DAY_MS = 86_400_000
ENDS = ip_address("10.0.0.1").packed + ip_address("10.0.0.2").packed
IXIA, YAF = 3054, 6871


def decoded(path: Path) -> list[dict[str, Any]]:
    """The flow records that `flowprism decode` writes."""
    return [json.loads(line) for line in run("decode", path, "--out", "-").splitlines()]


def warnings(path: Path) -> str:
    """What `flowprism feeds` doubts."""
    return "; ".join(w for e in json.loads(run("feeds", path, "--format", "json"))["exporters"] for w in e["warnings"])


@pytest.mark.parametrize("kind", ["netflow5", "netflow9"])
@pytest.mark.parametrize("ahead_ms", [7 * DAY_MS, -7 * DAY_MS, 120_000])
def test_uptimes_of_another_clock_are_bound_to_the_export(kind: Kind, ahead_ms: int, tmp_path: Path) -> None:
    """No flow is 42 days old because its uptime is seven days ahead: it ends with its export, and that is counted."""
    path = capture(tmp_path / "a.pcap", kind, numbered(kind, 4), ahead_ms)
    for row in decoded(path):
        assert abs(row["time_flow_end_ns"] - row["time_received_ns"]) <= 10**9
        assert row["time_flow_end_ns"] - row["time_flow_start_ns"] == 500 * 10**6
        assert row["time_uncertainty_ns"] >= 60 * 10**9
    assert f"{4 * RECORDS} records end, by uptime, more than a minute after or a day before" in warnings(path)


@pytest.mark.parametrize("kind", ["netflow5", "netflow9"])
def test_uptimes_of_the_header_s_clock_are_not_doubted(kind: Kind, tmp_path: Path) -> None:
    """Flows that ended before their export keep their times."""
    path = capture(tmp_path / "a.pcap", kind, numbered(kind, 4))
    assert {row["time_flow_end_ns"] // 10**9 - EPOCH_S for row in decoded(path)} <= set(range(-1, 4))
    assert "uptime" not in warnings(path)


@pytest.mark.parametrize("there", [0, 700])
@pytest.mark.parametrize(
    "back",
    [((176, 8, IXIA), (177, 8, IXIA)), ((12, 8, YAF), (13, 8, YAF)), ((1, 8, 29305), (2, 8, 29305))],
    ids=["Ixia", "YAF", "RFC 5103"],
)
def test_the_way_back_is_a_flow(back: tuple[Field, Field], there: int, tmp_path: Path) -> None:
    """Whoever's element counts it; a direction in which nothing went is no flow of no bytes."""
    fields: tuple[Field, ...] = ((8, 4), (12, 4), (1, 8), (2, 8), *back, (152, 8), (153, 8))
    ms = UNIX_S * 1000
    record = ENDS + struct.pack("!QQQQQQ", there, bool(there), 9000, 6, ms - 9, ms - 2)
    path = tmp_path / "biflow.dat"
    path.write_bytes(ipfix(one_set(2, template(256, fields)), one_set(256, record)))
    found = {(row["src_addr"], row["dst_addr"]): (row["bytes"], row["packets"]) for row in decoded(path)}
    assert found.pop(("10.0.0.2", "10.0.0.1")) == (9000, 6)
    assert found == ({("10.0.0.1", "10.0.0.2"): (700, 1)} if there else {})


def test_a_record_that_counts_the_way_back_alone(tmp_path: Path) -> None:
    """It is one flow, from the responder."""
    record = ENDS + struct.pack("!QQQ", 9000, UNIX_S * 1000 - 9, UNIX_S * 1000 - 2)
    path = tmp_path / "biflow.dat"
    fields: tuple[Field, ...] = ((8, 4), (12, 4), (1, 8, 29305), (152, 8), (153, 8))
    path.write_bytes(ipfix(one_set(2, template(256, fields)), one_set(256, record, record)))
    assert [(row["src_addr"], row["bytes"]) for row in decoded(path)] == [("10.0.0.2", 9000)] * 2


INNER = ethernet(ip(6, tcp(1000, 2000, 3, 4, 16, 500), "10.1.0.1", "10.1.0.2"))
LABEL = struct.pack("!I", 5 << 12 | 1 << 8 | 64)


@pytest.mark.parametrize(
    "content",
    [
        struct.pack("!I", 7) + INNER,  # control word with a sequence number
        bytes(4) + INNER,
        INNER,
        b"\x00" + INNER[1:],
        b"\x42" + INNER[1:],  # an address that begins like an IPv4 header
        b"\x60" + INNER[1:6] + INNER[6:],
    ],
    ids=["control word", "no sequence", "none", "none, 00", "none, 42", "none, 60"],
)
def test_a_pseudowire_leads_to_its_inner_packet(content: bytes, tmp_path: Path) -> None:
    """Ethernet over MPLS, with a control word and without (RFC 4448)."""
    path = tmp_path / "mirror.pcap"
    path.write_bytes(pcap([(EPOCH_S * 10**9, ethernet(LABEL + content, 0x8847))]))
    (row,) = decoded(path)
    assert (row["src_addr"], row["dst_addr"], row["dst_port"]) == ("10.1.0.1", "10.1.0.2", 2000)
