"""Damaged files and datagrams are named as what they resemble, and nothing of them vanishes."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from flowprism.cli import app
from simulate.export.feed_spec import KINDS, Kind
from simulate.export.wire.pcap import pcap_bytes
from tests.capture.netflow.sender import ipfix, one_set, template
from tests.flowprism.exports.captures import EPOCH_S, Sent, datagrams, payload
from tests.flowprism.exports.test_cut_files import run

NAMES: dict[Kind, str] = {"sflow": "sFlow v5", "netflow5": "NetFlow v5", "netflow9": "NetFlow v9", "ipfix": "IPFIX"}
FIRST = Sent(0, telling=True)


def wire(path: Path) -> list[dict[str, Any]]:
    """The records that `flowprism decode --wire` writes."""
    return [json.loads(line) for line in run("decode", path, "--wire", "--out", "-").splitlines()]


@pytest.mark.parametrize("place", [1, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_capture_is_no_mirror(kind: Kind, place: int, tmp_path: Path) -> None:
    """One datagram whose header is damaged: no traffic on UDP is analyzed, and the warning names the protocol."""
    batch = datagrams(kind, [FIRST])
    content = bytearray(pcap_bytes(batch))
    content[24 + 16 + 42 + place] ^= 0x81
    path = tmp_path / "one.pcap"
    path.write_bytes(content)
    report = json.loads(run("analyze", path, "--format", "json"))
    said = report["feed"]["warnings"] + list(report["feed"]["rejected"])
    assert said, "nothing is said of the damage"
    # The one packet of the capture would be traffic between the exporter and its collector.
    rows = [json.loads(line) for line in run("decode", path, "--out", "-").splitlines()]
    assert not any(row["src_addr"] == "10.255.0.1" for row in rows)


@pytest.mark.parametrize("kind", KINDS)
def test_a_datagram_of_another_version_is_named(kind: Kind, tmp_path: Path) -> None:
    """By its form, whatever its version says."""
    content = bytearray(pcap_bytes(datagrams(kind, [FIRST])))
    version = 24 + 16 + 42 + (3 if kind == "sflow" else 1)
    content[version] ^= 0x40
    path = tmp_path / "one.pcap"
    path.write_bytes(content)
    report = json.loads(run("analyze", path, "--format", "json"))
    assert report["feed"]["records"] == 0
    assert report["feed"]["warnings"] == [
        f"one.pcap: 1 of the first packets resemble {NAMES[kind]} datagrams with a damaged header"
    ]


@pytest.mark.parametrize("command", ["analyze", "feeds", "decode"])
@pytest.mark.parametrize("kind", KINDS)
def test_damaged_bare_datagrams_are_named(kind: Kind, command: str, tmp_path: Path) -> None:
    """The error says what the file resembles, not that it is no capture and no records."""
    content = bytearray(payload(kind, FIRST))
    content[3 if kind == "sflow" else 1] ^= 0x40
    path = tmp_path / "bare.dat"
    path.write_bytes(content)
    arguments = [command, str(path), *(("--out", "-") if command == "decode" else ())]
    done = CliRunner().invoke(app, arguments)
    assert f"resembles {NAMES[kind]} datagrams, but the header of the first is damaged" in str(done.exception)


@pytest.mark.parametrize("kind", KINDS)
def test_the_wire_says_what_the_capture_cut(kind: Kind, tmp_path: Path) -> None:
    """A snap length shows in the records themselves, and a truncated file in what is said at the end."""
    whole = pcap_bytes(datagrams(kind, [FIRST]))
    held = len(whole) - 24 - 16 - 30
    snapped = whole[:24] + whole[24:32] + struct.pack("<II", held, held + 30) + whole[40 : 40 + held]
    path = tmp_path / "cut.pcap"
    path.write_bytes(snapped)
    assert f"cut by the capture, which holds {held - 42} bytes of this datagram" in [r.get("error") for r in wire(path)]
    path.write_bytes(whole + whole[24:-20])
    done = CliRunner().invoke(app, ["decode", str(path), "--wire", "--out", "-"])
    assert "cut.pcap: ends inside a packet (truncated file)" in done.stderr


def test_nothing_of_a_set_vanishes(tmp_path: Path) -> None:
    """Bytes behind the last record or template, behind the message and in a record that is cut, are told as hex."""
    known = one_set(2, template(256, ((8, 4), (1, 4))), b"\1\2\3")
    data = one_set(256, bytes(8), b"\xaa\xbb\xcc")
    cut = one_set(257, b"\5abc")
    variable = one_set(2, template(257, ((371, 0xFFFF),)))
    message = ipfix(known, data, variable, cut)
    path = tmp_path / "bare.dat"
    path.write_bytes(message)
    told = {record["data"]: record["error"] for record in wire(path) if "data" in record}
    behind = "bytes behind the last record of the set"
    assert told == {"010203": behind, "aabbcc": behind, "616263": "the record is longer than its set"}


def test_hex_is_told_from_text(tmp_path: Path) -> None:
    """A name that is no text is no string of hex digits, which another name may be."""
    records = one_set(256, b"\2\xff\xfe", b"\4fffe")
    path = tmp_path / "bare.dat"
    path.write_bytes(ipfix(one_set(2, template(256, ((371, 0xFFFF),))), records, export_s=EPOCH_S))
    assert [r["userName"] for r in wire(path) if "userName" in r] == [{"hex": "fffe"}, "fffe"]
