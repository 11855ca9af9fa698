"""Export datagrams inside a packet capture: which packets carry them, and whether the capture is one of exports."""

from __future__ import annotations

import numpy as np

from capture.capture_file import BATCH_FRAMES, Batch
from capture.compiled import compiled
from capture.datagram import DATAGRAM, Datagrams, Index, announced, plausible
from capture.frame_index import Index as FrameIndex
from capture.window import Bytes
from capture.wire import FINE, Packets
from datamodel.flows import UDP

# A mirror of a training fabric may hold some of its switches' own exports; a capture taken at a collector holds
# little else, except the sessions (BMP, BGP, SNMP) of the same devices.
_LEAST_SHARE = 0.1


class ExportPackets:
    """Picks the export datagrams out of a capture's packets.

    Attributes:
        others: packets that carry none.
        fragments: packets that are parts of fragmented IP datagrams, which are not put together.
    """

    def __init__(self) -> None:
        self._index = np.zeros(BATCH_FRAMES, DATAGRAM)
        self.others = 0
        self.fragments = 0

    def datagrams(self, batch: Batch) -> Datagrams:
        """The export datagrams of a batch; valid until the next call."""
        count = pick(batch.data, batch.index, batch.packets, self._index)
        fragments = int(((batch.packets["reason"] == FINE) & (batch.packets["fragment"] > 0)).sum())
        self.fragments += fragments
        self.others += len(batch.packets) - count - fragments
        return Datagrams(batch.data, self._index[:count])


def holds_exports(batch: Batch) -> bool:
    """Whether a capture that begins with this batch is one of export datagrams, not a mirror of fabric traffic."""
    return share(batch.data, batch.index, batch.packets) >= max(1, _LEAST_SHARE * len(batch.packets))


@compiled
def share(data: Bytes, frames: FrameIndex, packets: Packets) -> int:
    """How many packets carry what is built like an export datagram."""
    count = 0
    for i in range(len(packets)):
        packet = packets[i]
        if packet["reason"] == FINE and packet["proto"] == UDP and packet["payload_at"] > 0:
            at = packet["payload_at"]
            end = min(at + packet["payload_bytes"], frames[i]["offset"] + frames[i]["captured_bytes"])
            if plausible(data, at, end, packet["payload_bytes"]):
                count += 1
    return count


@compiled
def pick(data: Bytes, frames: FrameIndex, packets: Packets, index: Index) -> int:
    """Fill `index` with the UDP payloads that announce an export protocol; the answer is their number."""
    count = 0
    for i in range(len(packets)):
        packet = packets[i]
        if packet["reason"] != FINE or packet["proto"] != UDP or packet["payload_at"] == 0 or packet["fragment"]:
            continue
        at = packet["payload_at"]
        sent_end = at + packet["payload_bytes"]
        end = min(sent_end, frames[i]["offset"] + frames[i]["captured_bytes"])
        protocol = announced(data, at, end)
        if protocol == 0:
            continue
        row = index[count]
        row["offset"] = at
        row["time_ns"] = packet["time_ns"]
        row["source_high"] = packet["src_high"]
        row["source_low"] = packet["src_low"]
        row["bytes"] = end - at
        row["source_port"] = packet["src_port"]
        row["destination_port"] = packet["dst_port"]
        row["protocol"] = protocol
        row["cut"] = 1 if end < sent_end else 0
        row["in_session"] = 0
        count += 1
    return count
