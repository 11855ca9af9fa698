"""Captures of a ring of endpoints that reduce gradients, whatever transport carries them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.capture.frames import pcap, save

# A packet's frame: sender, receiver, its number on the connection, its place in the message and the message's packets.
Encode = Callable[[int, int, int, int, int], bytes]
# What the receiver answers to a whole message: sender of the message, its receiver, the number of its last packet.
Answer = Callable[[int, int, int], bytes]

PACKET_BYTES, PACKETS, STEPS, ITERATIONS = 4096, 32, 6, 14
PERIOD_NS, COMPUTE_NS, STEP_NS, PACKET_NS, ANSWER_NS = 200_000_000, 120_000_000, 4_000_000, 2_000, 10_000
SNAP = 192


def ring_frames(encode: Encode, answer: Answer | None = None, endpoints: int = 4) -> list[tuple[int, bytes]]:
    """Frames and their times, in order: each endpoint computes, then sends a few messages on to the next one."""
    found: list[tuple[int, bytes]] = []
    sent = [0] * endpoints
    for iteration in range(ITERATIONS):
        for step in range(STEPS):
            start = 10**18 + iteration * PERIOD_NS + COMPUTE_NS + step * STEP_NS + iteration % 3 * 100_000
            for src in range(endpoints):
                dst = (src + 1) % endpoints
                for place in range(PACKETS):
                    frame = encode(src, dst, sent[src], place, PACKETS)
                    found.append((start + place * PACKET_NS + src, frame))
                    sent[src] += 1
                if answer is not None:
                    at = start + PACKETS * PACKET_NS + ANSWER_NS + src
                    found.append((at, answer(src, dst, sent[src] - 1)))
    return sorted(found, key=lambda item: item[0])


def ring_capture(
    folder: Path, encode: Encode, answer: Answer | None = None, name: str = "mirror.pcap", snap: int = SNAP
) -> Path:
    """Those frames as a capture, cut as mirrors cut them."""
    return save(folder, pcap(ring_frames(encode, answer), snap=snap), name)
