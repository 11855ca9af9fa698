"""What the wire said, in the specification's own words."""

from __future__ import annotations

import json
import struct
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from capture.sflow.describe import describe
from tests.capture.frames import tcp_frame
from tests.capture.sflow.wire import AGENT, address, counted, counters, datagram, discard, flow, header, tagged, words
from tests.capture.sflow.wire import interface as generic

HEAD = {"protocol": "sFlow v5", "agent_address": AGENT, "sub_agent_id": 2, "sequence_number": 9, "uptime": 77}


def told(*samples: bytes) -> list[dict[str, object]]:
    """A datagram's samples as dicts."""
    return list(describe(datagram(*samples, sub_agent=2, sequence=9, uptime_ms=77)))


def told_first(payload: bytes) -> dict[str, object]:
    """What comes first of a payload."""
    return next(iter(describe(payload)))


def listed(sample: dict[str, object], name: str) -> list[dict[str, Any]]:
    """The structures that a sample holds."""
    found = sample[name]
    assert isinstance(found, list)
    return found


def structure(content: bytes, number: int, enterprise: int = 0) -> object:
    """A flow structure as a dict."""
    (sample,) = told(flow(tagged(number, content, enterprise)))
    (found,) = listed(sample, "flow_records")
    return found


def test_a_flow_sample() -> None:
    """Every field by its name, nothing interpreted: the source id and the interfaces stay one number each."""
    frame = tcp_frame(1, 0)
    (sample,) = told(flow(header(frame), sequence=5, source=1 << 24 | 3, pool=8, drops=6, out_if=2 << 30 | 4))
    assert sample == HEAD | {
        "sample": "flow_sample", "sample_sequence_number": 5, "source_id": 1 << 24 | 3, "sampling_rate": 1000,
        "sample_pool": 8, "drops": 6, "input": 3, "output": 2 << 30 | 4,
        "flow_records": [{
            "structure": "sampled_header", "protocol": 1, "frame_length": len(frame) + 4, "stripped": 4,
            "header": frame.hex(),
        }],
    }  # fmt: skip


def test_structures_of_all_kinds() -> None:
    """Addresses, texts, lists and lists of lists."""
    gateway = address("2001:db8::1") + words(1, 2, 3, 1, 2, 2, 65000, 65001, 1, 7, 100)
    assert structure(gateway, 1003) == {
        "structure": "extended_gateway", "nexthop": "2001:db8::1", "as": 1, "src_as": 2, "src_peer_as": 3,
        "dst_as_path": [{"type": 2, "as_numbers": [65000, 65001]}], "communities": [7], "localpref": 100,
    }  # fmt: skip
    assert structure(words(5) + counted(b"name") + words(1), 1037) == {
        "structure": "extended_acl", "number": 5, "name": "name", "direction": 1,
    }  # fmt: skip
    assert structure(struct.pack("!Q", 1 << 60), 1043) == {"structure": "extended_timestamp", "nanoseconds": 1 << 60}
    mac = bytes.fromhex("0200000000010000")
    assert structure(words(64) + mac + mac + words(0x0800), 2) == {
        "structure": "sampled_ethernet", "length": 64, "src_mac": "02:00:00:00:00:01", "dst_mac": "02:00:00:00:00:01",
        "type": 0x0800,
    }  # fmt: skip
    assert structure(b"\1\2", 7, 9999) == {"structure": "9999/7", "data": "0102"}


def test_counters_and_discards() -> None:
    """Signed and floating values, nested lists, and the fields of a discarded packet."""
    optics = words(1, 4, 3300, -5) + words(1) + words(*range(1, 11))
    adapters = tagged(2001, words(1, 7, 1) + bytes.fromhex("0200000000010000"))
    load = tagged(2003, struct.pack("!fff", 0.5, float("nan"), 2) + bytes(68))
    (sample,) = told(counters(tagged(10, optics), adapters, load, generic(9, 5)))
    first, second, third, fourth = listed(sample, "counters")
    assert (first["module_temperature"], first["lanes"][0]["index"]) == (-5, 1)
    assert second["adapters"] == [{"ifIndex": 7, "mac_addresses": ["02:00:00:00:00:01"]}]
    assert (third["load_one"], third["load_five"], third["load_fifteen"]) == (0.5, {"hex": "7fc00000"}, 2.0)
    assert (fourth["ifIndex"], fourth["ifInOctets"], fourth["ifOutBroadcastPkts"]) == (9, 5, 3)
    (drop,) = told(discard(reason=260))
    assert (drop["sample"], drop["reason"], drop["inputifindex"]) == ("discarded_packet", 260, 3)


def test_structures_inside_a_structure() -> None:
    """Wireless aggregates hold packets with structures of their own; an aggregate inside one is not opened again."""
    queue = tagged(1036, words(4))
    packets = words(2) + words(1) + queue + words(1) + tagged(1016, words(1, 0))
    assert structure(packets, 1016) == {
        "structure": "extended_80211_aggregation",
        "pdus": [
            [{"structure": "extended_egress_queue", "queue": 4}],
            [{"structure": "0/1016", "data": "0000000100000000"}],
        ],
    }  # fmt: skip


def test_structures_of_enterprises_and_of_the_environment() -> None:
    """Broadcom's buffers by queue, and temperatures below zero."""
    assert structure(words(3), 1, 4413) == {"structure": "extended_bst_egress_queue", "queue": 3}
    buffers = words(1, 2, 3, 4, 2, 50, 60, 1, 70)
    (sample,) = told(
        counters(tagged(2, buffers, 4413), tagged(3001, words(-7, 40, 1)), tagged(1003, words(*range(13))))
    )
    first, second, third = listed(sample, "counters")
    assert (first["structure"], first["egress_queue_uc_pc"], first["egress_queue_mc_pc"]) == (
        "bst_port_buffers", [50, 60], [70],
    )  # fmt: skip
    assert second == {"structure": "temperature", "minimum": -7, "maximum": 40, "errors": 1}
    assert (third["queueLength1024"], third["dropped"]) == (10, 12)


def test_older_agents_leave_later_members_out() -> None:
    """That is no error; to end inside a member is one, and the bytes are kept."""
    short = structure(words(1), 1020)
    assert short == {"structure": "extended_nat_port", "src_port": 1}
    cut = structure(b"\0\0\0\1\0\0", 1020)
    assert cut == {
        "structure": "extended_nat_port", "src_port": 1, "error": "needs 4 bytes at byte 80, there are 2",
        "data": "0000",
    }  # fmt: skip


def test_it_says_where_it_had_to_stop() -> None:
    """Cut datagrams, counts and lengths that lie, and what is no sFlow 5 at all."""
    whole = datagram(flow(header(tcp_frame(1, 0))), announced=2)
    assert list(describe(whole))[-1]["error"] == "ends after 1 of 2 samples"
    assert "bytes of it are missing" in str(told_first(whole[:-20])["error"])
    assert told_first(b"\0\0\0\4")["error"] == "version 4"
    assert told_first(b"")["error"] == "needs 4 bytes at byte 0, there are 0"
    assert list(describe(datagram() + b"abc"))[-1]["error"] == "3 bytes behind the last sample"
    path = address(AGENT) + words(1, 2, 3, 0xFFFFFFFF)
    assert "4294967295 repetitions in 0 bytes" in str(structure(path, 1003))


@given(st.binary(max_size=200))
def test_no_bytes_raise(content: bytes) -> None:
    """Whatever comes is told as JSON, in as many dicts as there are bytes at most."""
    for payload in (content, datagram()[:24] + content, datagram(flow(content)), datagram(counters(content))):
        found = list(describe(payload))
        json.dumps(found, allow_nan=False)
        assert len(found) <= len(payload) + 1
