"""Which mirrored packets are let in: those whose outer source lies in an allowed network."""

from __future__ import annotations

from capture.jit import jit, wide
from capture.live.session_sequence import outer_source
from capture.receive.source_check import allows
from capture.receive.source_filter import Networks
from capture.tables.frame_index import Index
from capture.tables.read_buffer import Bytes


@jit
def admit(data: Bytes, index: Index, allowed: Networks) -> int:
    """Move the rows of packets that are let in to the front of `index`, in their order; how many they are.

    Args:
        data: the bytes `index` points into: IP packets.
        index: where the packets lie.
        allowed: shape (n, 4), see `capture.receive.source_filter.networks`.
    """
    admitted = 0
    for i in range(len(index)):
        at = wide(index[i]["offset"])
        high, low, _ = outer_source(data, at, at + index[i]["captured_bytes"])
        if allows(allowed, high, low):
            index[admitted] = index[i]
            admitted += 1
    return admitted
