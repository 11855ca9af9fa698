"""Which mirrored packets are let in: those whose outer source lies in an allowed network."""

from __future__ import annotations

from capture.compiled import compiled, wide
from capture.frame_index import Index
from capture.live.session_sequence import outer_source
from capture.receive.allowing import Networks
from capture.window import Bytes


@compiled
def admit(data: Bytes, index: Index, allowed: Networks) -> int:
    """Move the rows of packets that are let in to the front of `index`, in their order; how many they are.

    Args:
        data: the bytes `index` points into: IP packets.
        index: where the packets lie.
        allowed: shape (n, 4), see `capture.receive.allowing.networks`.
    """
    admitted = 0
    for i in range(len(index)):
        at = wide(index[i]["offset"])
        high, low, _ = outer_source(data, at, at + index[i]["captured_bytes"])
        if lies_within(allowed, high, low):
            index[admitted] = index[i]
            admitted += 1
    return admitted


@compiled
def lies_within(allowed: Networks, high: int, low: int) -> bool:
    """Whether an address lies in one of the networks."""
    inside = False
    for n in range(len(allowed)):
        same = high & allowed[n, 2] == allowed[n, 0] and low & allowed[n, 3] == allowed[n, 1]
        inside = inside or same
    return inside
