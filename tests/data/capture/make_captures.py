"""Makes the captures in this folder, each of which shows one case. Run from the root of the project.

usage: python -m tests.data.capture.make_captures

roce-write-and-ack.pcap      a RoCEv2 write of four packets, a NAK, a CNP, the repeated packets and the ACK
tcp-burst-and-ack.pcap.gz    two TCP bursts 2 ms apart with their acknowledgements; frames cut at 96 bytes
erspan-leaf-and-spine.pcapng one TCP burst mirrored by a leaf and a spine in ERSPAN II, from interfaces in us and ns
"""

from __future__ import annotations

import gzip
from pathlib import Path

from tests.capture.frames import (
    ACKNOWLEDGE,
    CNP,
    WRITE_FIRST,
    WRITE_LAST,
    WRITE_MIDDLE,
    aeth,
    erspan2,
    pcap,
    reth,
    roce_frame,
    tcp_frame,
)
from tests.capture.pcapng_writer import Writer

START_NS = 1_700_000_000 * 10**9
US, MS = 1_000, 1_000_000


def roce_write_and_ack() -> bytes:
    """See above."""
    write = [
        roce_frame(WRITE_FIRST, 0x1A2, 500, reth(3 * 1024 + 100) + bytes(1024)),
        roce_frame(WRITE_MIDDLE, 0x1A2, 501, bytes(1024), tos=3),
        roce_frame(WRITE_MIDDLE, 0x1A2, 502, bytes(1024)),
        roce_frame(WRITE_LAST, 0x1A2, 503, bytes(100)),
    ]
    answers = [
        (8 * US, roce_frame(ACKNOWLEDGE, 0x2B3, 502, aeth(0x60), back=True)),
        (9 * US, roce_frame(CNP, 0x2B3, 0, bytes(16), back=True)),
        (20 * US, roce_frame(ACKNOWLEDGE, 0x2B3, 503, aeth(0x1F), back=True)),
    ]
    sent = [(i * US, frame) for i, frame in enumerate(write)] + [(12 * US, write[2]), (13 * US, write[3])]
    return pcap([(START_NS + t, frame) for t, frame in sorted(sent + answers)])


def tcp_burst_and_ack() -> bytes:
    """See above."""
    frames = []
    for burst in range(2):
        at, first = START_NS + burst * 2 * MS, 1 + burst * 10 * 8948
        frames += [(at + i * US, tcp_frame(first + i * 8948, 8948, ident=burst * 10 + i + 1)) for i in range(10)]
        frames.append((at + 900 * US, tcp_frame(1, 0, ack=first + 10 * 8948, back=True, ident=burst + 1)))
    return gzip.compress(pcap(frames, snap=96), mtime=0)


def erspan_leaf_and_spine() -> bytes:
    """See above."""
    out = Writer().section().interface().interface(1, ((9, b"\x09"),))
    for i in range(5):
        at, frame = START_NS + i * 3 * US, tcp_frame(1 + i * 1000, 1000, ident=i + 1)
        out.packet(at // 1000, erspan2(frame, "192.0.2.1", 11))
        out.packet(at + 400, erspan2(frame, "192.0.2.2", 12), 1)
    return out.out


CAPTURES = {
    "roce-write-and-ack.pcap": roce_write_and_ack,
    "tcp-burst-and-ack.pcap.gz": tcp_burst_and_ack,
    "erspan-leaf-and-spine.pcapng": erspan_leaf_and_spine,
}


if __name__ == "__main__":
    for name, make in CAPTURES.items():
        (Path(__file__).parent / name).write_bytes(make())
