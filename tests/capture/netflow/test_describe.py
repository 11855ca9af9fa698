"""What the wire said, as dicts, and that the columns say the same."""

import json
import struct
from ipaddress import ip_address
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capture.netflow.describe import WireTemplates, describe
from capture.netflow.wire.datagram_header import UNPLACED
from tests.capture.export_bytes import netflow5, record5
from tests.capture.netflow.sender import (
    FLOW,
    VARIABLE,
    Collector,
    Field,
    flow,
    ipfix,
    netflow9,
    one_set,
    options_template,
    options_template_9,
    template,
)

ENDS: tuple[Field, ...] = ((8, 4), (12, 4))
A, B = ip_address("10.0.0.1").packed, ip_address("10.0.0.2").packed
# Columns by the elements they are taken from.
COLUMNS = {
    "src_addr": ("sourceIPv4Address", "sourceIPv6Address", "IPV4_SRC_ADDR", "IPV6_SRC_ADDR"),
    "dst_addr": ("destinationIPv4Address", "destinationIPv6Address", "IPV4_DST_ADDR", "IPV6_DST_ADDR"),
    "src_port": ("sourceTransportPort", "L4_SRC_PORT"), "dst_port": ("destinationTransportPort", "L4_DST_PORT"),
    "proto": ("protocolIdentifier", "PROTOCOL"), "bytes": ("octetDeltaCount", "IN_BYTES"),
    "packets": ("packetDeltaCount", "IN_PKTS"), "in_if": ("ingressInterface", "INPUT_SNMP"),
    "out_if": ("egressInterface", "OUTPUT_SNMP"), "ip_tos": ("ipClassOfService", "SRC_TOS"),
    "tcp_flags": ("tcpControlBits", "TCP_FLAGS"), "flow_direction": ("flowDirection", "DIRECTION"),
}  # fmt: skip


def said(*payloads: bytes) -> list[dict[str, Any]]:
    """What these datagrams of one source say."""
    templates = WireTemplates()
    found = [record for payload in payloads for record in describe(payload, templates, "192.0.2.1", 5000)]
    json.dumps(found, allow_nan=False)
    return found


def test_netflow5() -> None:
    """A v5 record has its members' names."""
    (record,) = said(netflow5((record5(size=9000),), sequence=7))
    expected = {"protocol": "NetFlow v5", "exporter": "192.0.2.1", "sequence": 7, "engine_id": 1, "srcaddr": "10.0.0.1",
                "dstaddr": "10.0.0.2", "dOctets": 9000, "dPkts": 9, "srcport": 1000, "prot": 6}  # fmt: skip
    assert {name: record[name] for name in expected} == expected


def test_ipfix_types() -> None:
    """Values are of their elements' types; unknown enterprises' elements are hex under their numbers."""
    fields: tuple[Field, ...] = (
        (8, 4), (27, 16), (56, 6), (371, VARIABLE), (434, 4), (320, 8), (276, 1), (70, 3), (999, 2, 4242), (1, 3, 29305)
    )  # fmt: skip
    record = A + ip_address("2001:db8::1").packed + bytes.fromhex("020000000001") + b"\x05Zoe\0\0"
    record += struct.pack("!id", -5, 0.5) + b"\x01" + b"\xab\xcd\xef" + b"\x12\x34" + b"\0\x01\x00"
    announced, found = said(ipfix(one_set(2, template(256, fields)), one_set(256, record), sequence=3, domain=9))
    assert announced["record"] == "template"
    assert announced["fields"][3] == {"name": "userName", "length": "variable"}
    expected = {
        "protocol": "IPFIX", "domain": 9, "sequence": 3, "record": "data", "template": 256,
        "sourceIPv4Address": "10.0.0.1", "sourceIPv6Address": "2001:db8::1", "sourceMacAddress": "02:00:00:00:00:01",
        "userName": "Zoe", "mibObjectValueInteger": -5, "absoluteError": 0.5, "dataRecordsReliability": True,
        "mplsTopLabelStackSection": "abcdef", "4242/999": "1234", "reverseOctetDeltaCount": 256,
    }  # fmt: skip
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (struct.pack("!BHHHH", 3, 58, 2, 7, 8), {"semantic": "allOf", "element": "vlanId", "values": [7, 8]}),
        (
            struct.pack("!BHH", 4, 371, VARIABLE) + b"\x03Zoe\0\x02Al",
            {"semantic": "ordered", "element": "userName", "values": ["Zoe", "", "Al"]},
        ),
        (
            struct.pack("!BHHI", 255, 0x8000 | 9, 1, 4242) + b"\xab",
            {"semantic": "undefined", "element": "4242/9", "values": ["ab"]},
        ),
        (struct.pack("!BHH", 9, 291, 6) + bytes(6), {"semantic": 9, "element": "basicList", "values": ["00" * 6]}),
        (struct.pack("!BHH", 3, 58, 2), {"semantic": "allOf", "element": "vlanId", "values": []}),
        (struct.pack("!BHHB", 3, 58, 2, 7), {"hex": struct.pack("!BHHB", 3, 58, 2, 7).hex()}),
        (struct.pack("!BHHB", 3, 58, 0, 7), {"hex": struct.pack("!BHHB", 3, 58, 0, 7).hex()}),
        (struct.pack("!BHH", 3, 0x8000 | 9, 1), {"hex": struct.pack("!BHH", 3, 0x8000 | 9, 1).hex()}),
        (b"\3\0", {"hex": "0300"}),
    ],
)
def test_lists(content: bytes, told: object) -> None:
    """A basicList tells how its values are meant, of which element they are, and them; damaged ones are hex."""
    record = bytes([len(content)]) + content
    _, found = said(ipfix(one_set(2, template(256, ((291, VARIABLE), (8, 4)))), one_set(256, record + A)))
    assert (found["basicList"], found["sourceIPv4Address"]) == (told, "10.0.0.1")


def test_a_field_that_occurs_twice() -> None:
    """It has a list."""
    _, found = said(ipfix(one_set(2, template(256, ((58, 2), (58, 2)))), one_set(256, struct.pack("!HH", 1, 2))))
    assert found["vlanId"] == [1, 2]


def test_netflow9_names_and_scopes() -> None:
    """v9 has Cisco's field names, and options templates scopes of their own."""
    options = one_set(1, options_template_9(257, ((1, 4), (2, 2)), ((48, 1), (50, 4))))
    data = one_set(257, struct.pack("!IHBI", 1, 2, 3, 4))
    plain = one_set(0, template(256, ((8, 4), (1, 4), (231, 4))))
    records = said(netflow9(options, data, plain, one_set(256, A + struct.pack("!II", 5, 6))))
    by_kind = {record["record"]: record for record in records}
    told = by_kind["options data"]
    assert (told["System"], told["Interface"], told["FLOW_SAMPLER_ID"]) == (1, 2, 3)
    assert told["FLOW_SAMPLER_RANDOM_INTERVAL"] == 4
    assert by_kind["data"]["IPV4_SRC_ADDR"] == "10.0.0.1"
    assert by_kind["data"]["NF_F_FWD_FLOW_DELTA_BYTES"] == 6


def test_ciscos_own_elements() -> None:
    """What Cisco sends in IPFIX under its enterprise it sends in v9 under the same number and the highest bit."""
    announced = one_set(0, template(256, ((45003, VARIABLE), (42128, 4), (37019, 4), (33002, 2), (60000, 1))))
    _, found = said(netflow9(announced, one_set(256, b"\x04host" + struct.pack("!IIHB", 3, 7, 1001, 9))))
    told = {"appHTTPHost": "host", "policyQosQueueID": 3, "transportPacketsLost": 7, "NF_F_FW_EXT_EVENT": 1001}
    assert {name: found[name] for name in told} == told
    assert found["0/60000"] == "09"
    fields: tuple[Field, ...] = ((12235, VARIABLE, 9), (9360, 4, 9), (4251, 4, 9), (4317, 4, 9))
    record = b"\x04host" + struct.pack("!III", 3, 7, 8)
    _, found = said(ipfix(one_set(2, template(256, fields)), one_set(256, record)))
    told = {"appHTTPHost": "host", "policyQosQueueID": 3, "transportPacketsLost": 7, "tcpWindowSizeMean": 8}
    assert {name: found[name] for name in told} == told


def test_elements_of_other_enterprises() -> None:
    """What vendors publish has their names and types: here Juniper's, Keysight's, Gigamon's and others'."""
    fields: tuple[Field, ...] = ((137, 4, 2636), (194, 16, 3054), (203, 6, 3054), (501, VARIABLE, 16982),
                                 (207, 4, 26866), (100, 4, 13745), (301, 2, 47729),
                                 (4, 2, 32622))  # fmt: skip
    record = b"\x18\0\0\5" + bytes(15) + b"\1" + b"\2\0\0\0\0\7" + b"\4host" + A + A + b"ok" + b"\1\2"
    _, found = said(ipfix(one_set(2, template(256, fields)), one_set(256, record)))
    told = {"juniperCommonProperties": "18000005", "ixiaThreatIPv6": "::1", "ixiaDhcpClientMac": "02:00:00:00:00:07",
            "HTTPRequestHost": "host", "DnsResponseIPv4Address": "10.0.0.1", "client_ip_v4": "10.0.0.1",
            "RadiusPacketTypeCodeText": "ok", "localPort": 258}  # fmt: skip
    assert {name: found[name] for name in told} == told


def test_elements_that_exporters_describe() -> None:
    """Options data may name an enterprise's element and its type (RFC 5610); registered names stay what they are."""
    scope: tuple[Field, ...] = ((346, 4), (303, 2))
    options = one_set(3, options_template(257, scope, ((339, 1), (341, VARIABLE))))
    about = [(4242, 999, 9, b"temperature"), (9, 9360, 1, b"other"), (4242, 1000, 3, b"error"),
             (4242, 1001, 3, b"octetDeltaCount"), (4242, 1002, 3, b"two words"), (4242, 1003, 99, b"odd")]  # fmt: skip
    data = [struct.pack("!IHBB", *numbers, len(name)) + name for *numbers, name in about]
    fields = tuple((number, 4, enterprise) for enterprise, number, *_ in about)
    record = struct.pack("!fIIIII", 36.5, 2, 3, 4, 5, 6)
    messages = (
        ipfix(options),
        ipfix(one_set(257, *data)),
        ipfix(one_set(2, template(256, fields)), one_set(256, record)),
    )
    found = said(*messages)[-1]
    told = {"temperature": 36.5, "policyQosQueueID": 2, "4242/1000": "00000003", "4242/1001": "00000004",
            "4242/1002": "00000005", "odd": "00000006"}  # fmt: skip
    assert {name: found[name] for name in told} == told
    assert said(*messages[2:])[-1]["4242/999"] == record[:4].hex()


def test_where_it_had_to_stop() -> None:
    """An error says what is wrong, after everything that could be read."""
    whole = ipfix(one_set(2, template(256, FLOW)), one_set(256, flow(1), flow(2)))
    records = said(whole[:-10])
    assert [record.get("octetDeltaCount") for record in records][:2] == [None, 1]
    assert "missing" in records[-2]["error"]
    assert "has" in records[-1]["error"]
    short = said(ipfix(one_set(2, template(256, FLOW)), one_set(256, b"\1" * 13)))[-1]
    assert (short["data"], short["error"]) == ("01" * 13, "shorter than one record of its template")
    assert said(b"\x00")[0]["error"] == "ends inside its header"
    assert said(ipfix(one_set(300, b"1234")))[0]["error"] == "its template is not known"


def meant(column: str, value: int | str) -> int | str:
    """What a column makes of a value that it cannot hold."""
    if isinstance(value, int) and column in ("bytes", "packets"):
        return value if value < 1 << 63 else 0
    return value & 0xFFFF if isinstance(value, int) and column == "tcp_flags" else value


def agree(payloads: tuple[bytes, ...]) -> int:
    """Hold the columns of a batch against what the wire said; how many values were compared."""
    rows = Collector().rows(*payloads)
    records = [record for record in said(*payloads) if record.get("record") == "data" and "error" not in record]
    assert len(rows) == len(records)
    compared = 0
    for row, record in zip(rows, records, strict=True):
        for column, names in COLUMNS.items():
            for name in names:
                value = record.get(name)
                if isinstance(value, int | str):
                    assert row[column] == meant(column, value), (column, record)
                    compared += 1
    return compared


NUMBERS = st.sampled_from(((7, 2), (11, 2), (4, 1), (5, 1), (6, 2), (6, 1), (10, 4), (14, 2), (2, 8), (2, 5), (60, 1)))
UNKNOWN = st.sampled_from(((95, 4), (500, 3), (700, 7, 9), (96, VARIABLE), (291, VARIABLE)))


@given(
    extra=st.lists(NUMBERS | UNKNOWN, max_size=12, unique_by=lambda field: field[0]),
    records=st.integers(1, 40),
    seed=st.randoms(use_true_random=False),
)
def test_both_readings_agree(extra: list[Field], records: int, seed: Any) -> None:  # noqa: ANN401
    """For any template and any values, the columns say what the plain reading says."""
    fields: list[Field] = [*ENDS, (1, 4), *extra]
    seed.shuffle(fields)
    content = b""
    for _ in range(records):
        for field in fields:
            size = seed.randrange(6) if field[1] == VARIABLE else field[1]
            content += (bytes([size]) if field[1] == VARIABLE else b"") + seed.randbytes(size)
    messages = (ipfix(one_set(2, template(256, fields))), ipfix(one_set(256, content)))
    assert agree(messages) >= 3 * records


@given(payload=st.binary(max_size=200), version=st.sampled_from((5, 9, 10)))
def test_no_bytes_raise(payload: bytes, version: int) -> None:
    """Whatever stands behind the version, both readings come to an end."""
    damaged = struct.pack("!H", version) + payload
    said(ipfix(one_set(2, template(256, FLOW))), damaged)
    Collector().rows(damaged)


@pytest.mark.parametrize("size", [0, 1, 3, 15, 19, 23])
def test_cut_headers(size: int) -> None:
    """A datagram that ends inside its header belongs to nobody and is counted."""
    collector = Collector()
    whole = ipfix(one_set(2, template(256, FLOW)))
    assert collector.rows(whole[:size]) == []
    expected = 1 if 4 <= size < 16 or size == 15 else 0  # shorter ones do not even tell their protocol
    assert sum(collector.decoder.rejected[reason] for reason in UNPLACED) == expected
