"""Valid inputs that fuzzing and mutation begin from."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable
from pathlib import Path

import zstandard

from tests.capture.export_bytes import flow_sample, flow_set, ipfix, netflow5, netflow9, record5, sflow, template
from tests.capture.frames import ethernet, ip, ip6, pcap, reth, roce_frame, tcp, udp
from tests.capture.goflow2.flow_messages import message, prefixed
from tests.capture.pcapng_writer import Writer
from tests.capture.sflow.wire import DEVICE, counters, host_cpu, host_memory, interface, nvidia_gpu
from tests.fuzz.targets import joined

_ROCE = roce_frame(0x06, 77, 1000, reth(1 << 20))
_VXLAN = ethernet(ip(17, udp(5000, 4789, b"\x08\0\0\0\0\0\x07\0" + _ROCE)))
_FRAMES = (
    _ROCE,
    _VXLAN,
    ethernet(ip(6, tcp(1, 2, 3, 4, 16, 50))),
    ethernet(ip6(6, tcp(1, 2, 3, 4, 16), "::1", "::2"), 0x86DD),
)

_FIELDS = ((8, 4), (12, 4), (7, 2), (11, 2), (4, 1), (1, 8), (2, 8), (152, 8), (153, 8))
_RECORD = struct.pack("!IIHHBQQQQ", 0x0A000001, 0x0A000002, 1, 4791, 17, 9000, 9, 1_700_000_000_000, 1_700_000_000_500)
_VARIABLE = ((27, 16), (28, 16), (1, 4), (82, 65535), (34, 4))
_VARIABLE_RECORD = (
    bytes(15) + b"\x01" + bytes(15) + b"\x02" + struct.pack("!I", 70) + b"\x04eth0" + struct.pack("!I", 1000)
)
_V9_FIELDS = ((8, 4), (12, 4), (1, 4), (2, 4), (22, 4), (21, 4), (48, 1))
_V9_RECORD = struct.pack("!IIIIIIB", 0x0A000001, 0x0A000002, 5000, 5, 1000, 2000, 7)
_OPTIONS = struct.pack("!HHHHHHHHH", 257, 4, 8, 1, 4, 48, 1, 34, 4) + bytes(2)
_IPFIX_OPTIONS = struct.pack("!HHHHHHH", 258, 2, 1, 149, 4, 34, 4)


def export_datagrams() -> list[list[bytes]]:
    """Sequences of valid datagrams, by kind."""
    samples = tuple(flow_sample(frame, n, 1000, 3, 1000 * n) for n, frame in enumerate(_FRAMES))
    templated = flow_set(2, template(256, _FIELDS) + template(257, _VARIABLE))
    return [
        [
            sflow(samples, sequence=1),
            sflow(samples[:1], agent="2001:db8::1", sequence=5),
            sflow((counters(interface(3)), counters(host_cpu(), host_memory(9, 8), nvidia_gpu(), source=DEVICE))),
        ],
        [netflow5((record5(), record5()), 0), netflow5((record5(),), 2)],
        [ipfix((templated,), 0), ipfix((flow_set(256, _RECORD * 3), flow_set(257, _VARIABLE_RECORD * 2)), 0)],
        [ipfix((flow_set(3, _IPFIX_OPTIONS), flow_set(258, struct.pack("!II", 1, 4096))), 0)],
        [netflow9((flow_set(0, template(256, _V9_FIELDS)),), 1), netflow9((flow_set(256, _V9_RECORD * 4),), 4, 1)],
        [netflow9((flow_set(1, _OPTIONS), flow_set(257, struct.pack("!IBI", 1, 7, 512))), 2)],
    ]


def _captures() -> list[bytes]:
    classic = pcap([(10**18 + n, frame) for n, frame in enumerate(_FRAMES)])
    blocks = Writer().section().interface()
    for frame in _FRAMES:
        blocks.packet(10**15, frame)
    return [classic, blocks.out]


def _fragments() -> list[bytes]:
    """A datagram in two fragments over IPv4, in three over IPv6, and one that is whole."""
    sent = udp(40000, 6343, sflow((flow_sample(_ROCE, 1, 1000, 3, 1000),), sequence=1))
    pieces = (sent[at : at + 64] for at in range(0, len(sent), 64))
    heads = (b"\x11\0" + (64 * n | (64 * (n + 1) < len(sent))).to_bytes(2, "big") + b"\0\0\0\7" for n in range(9))
    six = [ethernet(ip6(44, head + piece, "::1", "::2"), 0x86DD) for head, piece in zip(heads, pieces, strict=False)]
    four = [ethernet(ip(17, sent[:80], ident=7, fragment=0x2000)), ethernet(ip(17, sent[80:], ident=7, fragment=10))]
    return [joined(four), joined(six), joined([four[1], ethernet(ip(17, sent)), four[0], *six])]


def _texts() -> list[bytes]:
    """The first lines of what collectors wrote, and of tables of our own."""
    folder = Path(__file__).parents[1] / "data" / "collectors"
    written = [path.read_bytes() for path in sorted(folder.iterdir()) if path.suffix in (".csv", ".json", ".jsonl")]
    own = b"time_flow_start_ns,time_flow_end_ns,src_addr,dst_addr,bytes,proto\n1,2,10.0.0.1,::2,3,tcp\n"
    return [own, *(b"".join(content.splitlines(keepends=True)[:3]) for content in written)]


def _dump() -> list[bytes]:
    """The first message GoFlow2 wrote, and others, singly: what is searched after damage costs time by the byte."""
    written = (Path(__file__).parents[1] / "data" / "collectors" / "goflow2.bin").read_bytes()
    odd = message(bytes=None, src_addr=bytes(16), as_path=[1, 1 << 31], layer_stack=[1, 2], note=b"x", custom=1 << 63)
    return [written[: 1 + written[0]], prefixed(message()), prefixed(odd) + prefixed(b""), b"\n" + prefixed(message())]


def _sflow() -> list[bytes]:
    """The datagrams of sFlow, without their version."""
    return [joined([datagram[4:] for datagram in datagrams]) for datagrams in export_datagrams()[:1]]


def _netflow() -> list[bytes]:
    """Those of the others, the version as the place it has among theirs."""
    place = {5: b"\0", 9: b"\1", 10: b"\2"}
    return [joined([place[d[1]] + d[2:] for d in datagrams]) for datagrams in export_datagrams()[1:]]


def _compressed() -> list[bytes]:
    """A capture by each method, in one piece and in two."""
    whole = _captures()[0]
    first, second = whole[:100], whole[100:]
    unzipped = [
        gzip.compress(whole, mtime=0),
        gzip.compress(first, mtime=0) + bytes(4) + gzip.compress(second, mtime=0),
    ]
    frames = [zstandard.compress(part) for part in (whole, first, second)]
    return [*unzipped, frames[0], frames[1] + frames[2], whole]


def _topics() -> list[bytes]:
    """Values of GoFlow2, with and without their length, and of pmacct."""
    pmacct = b'{"event_type": "purge", "ip_src": "10.0.0.1", "ip_dst": "10.0.0.2", "bytes": 9, "packets": 1, '
    pmacct += b'"timestamp_start": "2026-01-01 00:00:00.5", "timestamp_end": "2026-01-01 00:00:01.5"}'
    return [
        joined([prefixed(message()), prefixed(message(bytes=7))]),
        joined([message(), b""]),
        joined([pmacct, pmacct]),
    ]


def _configurations() -> list[bytes]:
    """One of each vendor, and one of another form."""
    folder = Path(__file__).parents[1] / "configs" / "problems"
    return [next(path for path in sorted(vendor.rglob("*")) if path.is_file()).read_bytes() for vendor in
            sorted(folder.iterdir()) if vendor.is_dir()]  # fmt: skip


SEEDS: dict[str, Callable[[], list[bytes]]] = {
    "exports": lambda: [joined(datagrams) for datagrams in export_datagrams()],
    "sflow": _sflow,
    "netflow": _netflow,
    "wire": lambda: [joined(datagrams) for datagrams in export_datagrams()],
    "frame": lambda: [b"\x01" + frame for frame in _FRAMES],
    "capture": _captures,
    "fragments": _fragments,
    "text": _texts,
    "bare": lambda: [b"".join(datagrams) for datagrams in export_datagrams()],
    "goflow2": _dump,
    "compressed": _compressed,
    "kafka": _topics,
    "configuration": _configurations,
}
