"""Transports other than plain RoCE over IPv4, through the real command: nothing passes in silence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flowprism.cli import app
from tests.capture.frames import (
    ACKNOWLEDGE,
    WRITE_FIRST,
    WRITE_LAST,
    WRITE_MIDDLE,
    aeth,
    bth,
    ethernet,
    ip,
    ip6,
    reth,
    udp,
)  # fmt: skip
from tests.capture.ultra_ethernet import ACK, NACK, RUD, answer, request, standard
from tests.flowprism.ring_capture import ITERATIONS, PACKET_BYTES, Answer, Encode, ring_capture

DATA = bytes(PACKET_BYTES)
IPV6, IN_IPV6, ROUTING = 0x86DD, 41, 43
PORTS = 256


def roce(place: int, packets: int, queue_pair: int, number: int) -> bytes:
    """A packet of an RDMA write."""
    opcode = WRITE_FIRST if place == 0 else WRITE_LAST if place == packets - 1 else WRITE_MIDDLE
    return bth(opcode, queue_pair, number, (reth(packets * PACKET_BYTES) if place == 0 else b"") + DATA)


def sprayed(src: int, dst: int, number: int, place: int, packets: int) -> bytes:
    """RoCE whose packets have source ports by the hundred."""
    port = 49152 + (number * 2654435761 >> 7) % PORTS
    return ethernet(ip(17, udp(port, 4791, roce(place, packets, 100 + src, number)), v4(src), v4(dst)))


def acknowledged(src: int, dst: int, number: int) -> bytes:
    """RoCE's acknowledgement."""
    return ethernet(ip(17, udp(50000, 4791, bth(ACKNOWLEDGE, 200 + src, number, aeth(0x1F))), v4(dst), v4(src)))


def ultra(src: int, dst: int, number: int, place: int, packets: int) -> bytes:
    """Ultra Ethernet, sprayed."""
    head = standard(packets * PACKET_BYTES, starts=place == 0, ends=place == packets - 1)
    body = request(RUD, number, 1000 + src, 2000 + dst, head + DATA)
    return ethernet(ip(17, udp(50000 + number % 64, 4793, body), v4(src), v4(dst)))


def ultra_acknowledged(src: int, dst: int, number: int) -> bytes:
    """Its acknowledgement."""
    return ethernet(ip(17, udp(50000, 4793, answer(ACK, number, 2000 + dst, 1000 + src)), v4(dst), v4(src)))


def encrypted(src: int, dst: int, number: int, _place: int, _packets: int) -> bytes:
    """Ultra Ethernet of which nothing can be read."""
    return ethernet(ip(17, udp(50000 + src, 4793, b"\x08\0\0\0" + number.to_bytes(8, "big") + DATA), v4(src), v4(dst)))


def other_udp(src: int, dst: int, _number: int, _place: int, _packets: int) -> bytes:
    """A transport that nobody here has heard of."""
    return ethernet(ip(17, udp(50000 + src, 7777, DATA), v4(src), v4(dst)))


def other_protocol(src: int, dst: int, _number: int, _place: int, _packets: int) -> bytes:
    """A protocol directly on IP."""
    return ethernet(ip(253, DATA, v4(src), v4(dst)))


def ipv6(src: int, dst: int, number: int, place: int, packets: int) -> bytes:
    """RoCE over IPv6."""
    return ethernet(ip6(17, udp(50000 + src, 4791, roce(place, packets, 100 + src, number)), v6(src), v6(dst)), IPV6)


def in_ipv6(src: int, dst: int, number: int, place: int, packets: int) -> bytes:
    """The same within IPv6."""
    return ethernet(ip6(IN_IPV6, ipv6(src, dst, number, place, packets)[14:], "fc00::1", "fc00::2"), IPV6)


def segments_left(src: int, dst: int, number: int, place: int, packets: int) -> bytes:
    """The same through a segment of a spine, the last one listed first in a routing header."""
    spine, last = f"fc00:{number % 4 + 1:x}::", v6(dst)
    routing = bytes([17, 4, 4, 1, 1, 0, 0, 0]) + ip6(59, b"", last, spine)[8:40]
    body = routing + udp(50000 + src, 4791, roce(place, packets, 100 + src, number))
    return ethernet(ip6(ROUTING, body, v6(src), spine), IPV6)


def locator(src: int, dst: int, number: int, place: int, packets: int) -> bytes:
    """The same to the receiver's locator."""
    body = udp(50000 + src, 4791, roce(place, packets, 100 + src, number))
    return ethernet(ip6(17, body, v6(src), f"2001:db8:{dst + 1:x}::"), IPV6)


def compressed(src: int, dst: int, number: int, place: int, packets: int) -> bytes:
    """The same over one of many paths, told by the segments before the receiver's in the destination."""
    path = f"2001:db8:{0xA0 + number % 16:x}:{0xB0 + dst:x}:{dst + 1:x}::"
    body = udp(50000 + src, 4791, roce(place, packets, 100 + src, number))
    return ethernet(ip6(17, body, v6(src), path), IPV6)


def v4(endpoint: int) -> str:
    """An endpoint's address."""
    return f"10.0.{endpoint}.1"


def v6(endpoint: int) -> str:
    """An endpoint's address of IPv6."""
    return f"2001:db8:{endpoint + 1:x}::1"


def report(path: Path, *more: str) -> dict:  # type: ignore[type-arg]
    """What `flowprism analyze` prints of a capture."""
    result = CliRunner().invoke(app, ["analyze", str(path), "--format", "json", *more])
    assert result.exit_code == 0, result.output
    found: dict = json.loads(result.stdout)  # type: ignore[type-arg]
    return found


@pytest.mark.parametrize(
    ("encode", "answered", "name", "transport"),
    [
        (sprayed, acknowledged, v4, "RoCEv2"),
        (ultra, ultra_acknowledged, v4, "Ultra Ethernet"),
        (ultra, None, v4, "Ultra Ethernet"),
        (ipv6, None, v6, "RoCEv2"),
        (in_ipv6, None, v6, "RoCEv2"),
        (segments_left, None, v6, "RoCEv2"),
        (locator, None, v6, "RoCEv2"),
        (compressed, None, v6, "RoCEv2"),
    ],
)
def test_a_ring_is_found_whatever_carries_it(
    tmp_path: Path, encode: Encode, answered: Answer | None, name: Callable[[int], str], transport: str
) -> None:
    """One job of four endpoints by their own addresses, all iterations, all bytes of one transport."""
    found = report(ring_capture(tmp_path, encode, answered))
    (job,) = found["jobs"]
    assert job["endpoints"] == [name(n) for n in range(4)]
    assert len(job["iterations"]) == ITERATIONS
    assert list(found["feed"]["transports"]) == [transport]
    assert found["feed"]["transports"][transport] == found["feed"]["bytes"]


@pytest.mark.parametrize(
    ("encode", "transport"),
    [
        (encrypted, "Ultra Ethernet with unreadable headers"),
        (other_udp, "UDP port 7777"),
        (other_protocol, "IP protocol 253"),
    ],
)
def test_what_is_not_understood_is_a_warning_with_its_share(tmp_path: Path, encode: Encode, transport: str) -> None:
    """In the report and on a terminal."""
    path = ring_capture(tmp_path, encode)
    found = report(path)
    assert list(found["feed"]["transports"]) == [transport]
    (warning,) = [w for w in found["feed"]["warnings"] if "no decoder understands" in w]
    assert warning.startswith("100 % of the bytes")
    assert transport in warning
    text = CliRunner().invoke(app, ["analyze", str(path)]).stdout
    assert transport in text


def test_segments_of_nobody_are_a_warning(tmp_path: Path) -> None:
    """Destinations that lead to no address that sends; declared with their NICs, they do."""

    def elsewhere(src: int, dst: int, number: int, place: int, packets: int) -> bytes:
        body = udp(50000 + src, 4791, roce(place, packets, 100 + src, number))
        return ethernet(ip6(17, body, v6(src), f"fc00:0:{dst + 1:x}::"), IPV6)

    path = ring_capture(tmp_path, elsewhere)
    (warning,) = report(path)["feed"]["warnings"]
    assert "4 destinations (such as fc00:0:1::) that never send look like segments of SRv6" in warning
    nics = [{"addresses": [v6(n), f"fc00:0:{n + 1:x}::"]} for n in range(4)]
    hosts = [{"name": f"h{n}", "endpoints": [nic]} for n, nic in enumerate(nics)]
    (tmp_path / "known.yaml").write_text(json.dumps({"schema": "flowprism.inventory/v1", "hosts": hosts}))
    found = report(path, "--inventory", str(tmp_path / "known.yaml"))
    assert [job["endpoints"] for job in found["jobs"]] == [[v6(n) for n in range(4)]]
    assert found["feed"]["warnings"] == []


def test_trimmed_packets_count_apart(tmp_path: Path) -> None:
    """Two of a message's packets arrive without payload and are sent again: no byte counts twice."""
    late: dict[int, bytes] = {}

    def trimming(src: int, dst: int, number: int, place: int, packets: int) -> bytes:
        whole = ultra(src, dst, number, place, packets)
        if place not in (3, 4):
            return whole
        late[src] = whole
        return ethernet(ip(17, whole[34 : 34 + 8 + 12], v4(src), v4(dst), tos=44))

    def refused(src: int, dst: int, number: int) -> bytes:
        body = answer(NACK, number, 2000 + dst, 1000 + src)
        return ethernet(ip(17, udp(50000, 4793, body), v4(dst), v4(src)))

    plain = report(ring_capture(tmp_path, ultra))
    found = report(ring_capture(tmp_path, trimming, refused, "trimmed.pcap"))
    assert found["feed"]["trimmed_packets"] == 2 * plain["feed"]["records"] // 32
    assert (plain["feed"]["trimmed_packets"], len(found["jobs"])) == (0, 1)
    text = CliRunner().invoke(app, ["analyze", str(tmp_path / "trimmed.pcap")]).stdout
    assert "by congested switches" in text
