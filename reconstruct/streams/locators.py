"""SRv6 segments as destinations -> the NICs they lead to.

A sender may write the segments that a packet shall visit in place of its destination: a locator of the receiver (RFC
8986), or a row of compressed segments of 16 bits behind a block that they share (RFC 9800), the last of which is the
receiver's. Receivers send from addresses of their own: what goes there and what comes back would be of two endpoints.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import IPv6Address

import numpy as np

from datamodel.telemetry.flows import Flows

# Bits of the block in front of compressed segments, and of each of these.
BLOCK_BITS, SEGMENT_BITS = (32, 48), 16
# A segment has nothing behind it: the rest of the address is zero, the last group of bits at least.
LEAST_ZERO_BITS = 16


def locators(flows: Flows, declared: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Destinations that lead to a NIC of another address, and that address; and those that lead to none that is known.

    A segment is a destination that never sends and ends in zeros. It leads to the NIC whose address lies within it, as
    the only one of those that send, or which the inventory declares with it. Of a row of segments the last one counts.

    Args:
        flows: records by address.
        declared: name of each address that the inventory names.
    """
    sends = np.zeros(len(flows.addresses) + 1, np.bool_)
    sends[flows.frame["src_addr"]] = True
    receives = np.zeros(len(flows.addresses) + 1, np.bool_)
    receives[flows.frame["dst_addr"]] = True
    silent = [a for a, code in zip(flows.addresses, (receives & ~sends)[:-1].tolist(), strict=True) if code]
    segments = {a: number for a in silent if ":" in a and (number := _segment(a))}
    if not segments:
        return {}, ()
    senders = sorted(
        int(IPv6Address(a)) for a, code in zip(flows.addresses, sends[:-1].tolist(), strict=True) if code and ":" in a
    )
    known = np.array([n >> 64 for n in senders], np.uint64), senders
    found = {a: nic for a, number in segments.items() if (nic := _nic(number, known, declared)) is not None}
    return found, tuple(a for a in segments if a not in found and a not in declared)


def _segment(address: str) -> int:
    """The address as a number where it can be a segment; 0 where it cannot."""
    number = int(IPv6Address(address))
    return 0 if number & ((1 << LEAST_ZERO_BITS) - 1) else number


def _nic(number: int, senders: tuple[np.ndarray, list[int]], declared: Mapping[str, str]) -> str | None:
    """The address of the NIC that a segment, or a row of segments, leads to."""
    for last in _last_segments(number):
        if (text := str(IPv6Address(last))) in declared:
            return text
        if (inside := _only_one_inside(last, senders)) is not None:
            return inside
    return None


def _last_segments(number: int) -> Iterator[int]:
    """The whole, then the last of a row of segments behind a block, for each length of block."""
    yield number
    used = 128 - (number & -number).bit_length() + 1
    end = -(-used // SEGMENT_BITS) * SEGMENT_BITS  # bits up to the end of the last segment
    last = number >> (128 - end) & ((1 << SEGMENT_BITS) - 1)
    for bits in BLOCK_BITS:
        if end > bits + SEGMENT_BITS:
            yield (number >> (128 - bits) << SEGMENT_BITS | last) << (128 - bits - SEGMENT_BITS)


def _only_one_inside(segment: int, senders: tuple[np.ndarray, list[int]]) -> str | None:
    """The only sender whose address begins with the segment; None where there are none, or several."""
    zeros = (segment & -segment).bit_length() - 1
    zeros = zeros // SEGMENT_BITS * SEGMENT_BITS
    top, numbers = senders
    low, high = segment >> 64, segment + (1 << zeros) - 1 >> 64
    first, end = np.searchsorted(top, np.uint64(low)), np.searchsorted(top, np.uint64(high), side="right")
    return str(IPv6Address(numbers[int(first)])) if end - first == 1 else None
