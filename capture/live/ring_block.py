"""Blocks of a packet ring (Linux TPACKET_V3, <linux/if_packet.h>): bytes -> where each frame lies.

A block begins with a `tpacket_block_desc`; from its first packet on, every `tpacket3_hdr` says where the next begins.
Both are in the machine's own byte order.
"""

from __future__ import annotations

import sys

import numpy as np
import numpy.typing as npt

from capture.files.pcap import u32
from capture.jit import jit, wide
from capture.receive.fence import fence
from capture.tables.frame_index import Index
from capture.tables.read_buffer import Bytes

Marks = npt.NDArray[np.int64]
Heads = npt.NDArray[np.uint32]  # a ring as 32-bit words, a row a block

STATUS_AT, PACKETS_AT, FIRST_AT = 8, 12, 16  # in a block's head
KERNEL_OWNS, USER_OWNS = 0, 1  # in its status
PACKET_HEAD_BYTES = 48

# Places in the array of marks: what frames were seen to be.
TAGS_STRIPPED, MERGED, BROKEN = range(3)
MARKS = 3

_TAG_STRIPPED, _MERGED_TCP = 1 << 4, 1 << 8  # TP_STATUS_VLAN_VALID; TP_STATUS_GSO_TCP, which older kernels never set
_LITTLE = sys.byteorder == "little"


@jit
def index_block(
    ring: Bytes, at: int, end: int, left: int, link: int, interface: int, index: Index, marks: Marks
) -> tuple[int, int, int]:
    """Index packets of a block, `left` at most.

    Args:
        ring: the whole ring.
        at: where in it the next packet's head lies.
        end: of the block.
        left: packets of the block not yet indexed.
        link: LINKTYPE_ value of the interface.
        interface: its number.
        index: rows to fill; the number of rows bounds the number of packets.
        marks: counters (MARKS,), added to: frames whose VLAN tag the kernel removed, frames it merged out of several
            TCP packets, and packets given up because a head contradicts the block (they are not indexed).

    Returns:
        Rows filled, where the next packet's head lies, and how many packets of the block are left.
    """
    fence()  # nothing of the block is read before its status was
    count = 0
    while count < len(index) and count < left:
        if at + PACKET_HEAD_BYTES > end:
            marks[BROKEN] += left - count
            return count, end, 0
        captured, frame = u32(ring, at + 12, _LITTLE), at + half(ring, at + 24)
        if frame + captured > end:
            marks[BROKEN] += left - count
            return count, end, 0
        status = u32(ring, at + 20, _LITTLE)
        marks[TAGS_STRIPPED] += 1 if status & _TAG_STRIPPED else 0
        marks[MERGED] += 1 if status & _MERGED_TCP else 0
        row = index[count]
        row["offset"] = frame
        row["time_ns"] = u32(ring, at + 4, _LITTLE) * 1_000_000_000 + u32(ring, at + 8, _LITTLE)
        row["captured_bytes"] = captured
        row["wire_bytes"] = min(u32(ring, at + 16, _LITTLE), 0x7FFFFFFF)
        row["link"] = link
        row["interface"] = interface
        count += 1
        step = u32(ring, at, _LITTLE)
        at = at + step if step else end  # the last packet of a block has no next one
    return count, at, left - count


@jit
def give_back(heads: Heads, block: int) -> None:
    """Let the kernel fill a block of the ring again; all that was read of it, was read before."""
    fence()
    heads[block, STATUS_AT // 4] = KERNEL_OWNS


@jit
def half(ring: Bytes, at: int) -> int:
    """The unsigned 16-bit integer at `at`, in the machine's byte order."""
    a, b = wide(ring[at]), wide(ring[at + 1])
    return a | b << 8 if _LITTLE else b | a << 8
