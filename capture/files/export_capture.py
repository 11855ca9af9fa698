"""Export datagrams inside a packet capture: which packets carry them, and whether the capture is one of exports."""

from __future__ import annotations

from collections import Counter
from struct import unpack

import numpy as np

from capture.exporters.datagram import DATAGRAM, NO_EXPORT, Datagrams, Index, announced, plausible
from capture.files.capture_file import BATCH_FRAMES, Batch
from capture.files.fragments import UDP_HEADER_BYTES, Reassembly
from capture.files.fragments import Datagram as Fragmented
from capture.jit import jit
from capture.packets.headers import be16
from capture.packets.packet_columns import FINE, REASONS, Packets
from capture.sflow.sflow_layout import ADDRESS_IPV4, ADDRESS_IPV6
from capture.tables.frame_index import Index as FrameIndex
from capture.tables.read_buffer import Bytes, as_array
from datamodel.telemetry.flows import UDP

# A mirror of a training fabric may hold some of its switches' own exports; a capture taken at a collector holds
# little else, except the sessions (BMP, BGP, SNMP) of the same devices.
_LEAST_SHARE = 0.1

_SFLOW_HEAD_BYTES = 24
_OLD_NETFLOW_HEADER_BYTES = {1: 16, 7: 24}  # behind it records of 52 bytes
NO_DATAGRAM = "packet that carries no export datagram"
LACKING = "fragment of a datagram whose other fragments are missing"


class ExportPackets:
    """Picks the export datagrams out of a capture's packets, and puts together those that came in fragments.

    Attributes:
        left_out: packets that carry none, by reason.
    """

    def __init__(self) -> None:
        self._index = np.zeros(BATCH_FRAMES, DATAGRAM)
        self._reassembly = Reassembly()
        self.left_out: Counter[str] = Counter()

    def datagrams(self, batch: Batch) -> Datagrams:
        """The export datagrams of a batch; valid until the next call."""
        joined = list(self._reassembly.feed(batch))
        count = extract_datagrams(batch.data, batch.index, batch.packets, self._index)
        reasons = np.bincount(batch.packets["reason"], minlength=len(REASONS))
        self.left_out.update({text: int(reasons[n]) for n, text in enumerate(REASONS) if n != FINE})
        fragments = int(((batch.packets["reason"] == FINE) & (batch.packets["fragment"] > 0)).sum())
        self.left_out[NO_DATAGRAM] += int(reasons[FINE]) - count - fragments
        return self._with(joined, Datagrams(batch.data, self._index[:count]))

    def rest(self) -> Datagrams:
        """At the end of the capture: what there is of datagrams that never were whole."""
        return self._with(list(self._reassembly.rest()), Datagrams(np.empty(0, np.uint8), self._index[:0]))

    def _with(self, joined: list[Fragmented], batch: Datagrams) -> Datagrams:
        """A batch and, where they were completed, datagrams that came in fragments, behind its bytes."""
        added = np.zeros(len(joined), DATAGRAM)
        places: list[int] = []
        contents, end = [batch.data], len(batch.data)
        for datagram in joined:
            content, is_whole = datagram.content()
            is_export = _describe(content, datagram, added[len(places)])
            if not datagram.is_complete:
                self.left_out[LACKING] += len(datagram.pieces)
            elif not is_export:
                self.left_out[NO_DATAGRAM] += len(datagram.pieces)
            if is_export:
                added["offset"][len(places)] = end + UDP_HEADER_BYTES
                added["cut"][len(places)] = not is_whole
                places.append(int(np.searchsorted(batch.index["offset"], datagram.at)))
                contents.append(np.frombuffer(content, np.uint8))
                end += len(content)
        if not places:
            return batch
        return Datagrams(np.concatenate(contents), np.insert(batch.index, places, added[: len(places)]))


def _describe(content: bytes, datagram: Fragmented, row: np.void) -> bool:
    """Fill what a datagram's bytes and fragments say; False where it is no export datagram."""
    if len(content) < UDP_HEADER_BYTES:
        return False
    data = as_array(content)
    row["bytes"] = len(content) - UDP_HEADER_BYTES
    row["protocol"] = announced(data, UDP_HEADER_BYTES, len(content))
    row["time_ns"] = datagram.time_ns
    row["source_high"], row["source_low"] = datagram.source
    row["source_port"], row["destination_port"] = be16(data, 0), be16(data, 2)
    return bool(row["protocol"] != NO_EXPORT)


def holds_exports(batch: Batch) -> bool:
    """Whether a capture that begins with this batch is one of export datagrams, not a mirror of fabric traffic."""
    later_fragments = int((batch.packets["fragment"] > 0).sum())
    least = _LEAST_SHARE * (len(batch.packets) - later_fragments)
    return share(batch.data, batch.index, batch.packets) >= max(1, least)


def outdated(batch: Batch) -> Counter[str]:
    """How many of a batch's packets are datagrams of export protocols that are not decoded, by the protocol's name."""
    found: Counter[str] = Counter()
    for packet in batch.packets[(batch.packets["reason"] == FINE) & (batch.packets["payload_at"] > 0)]:
        size = int(packet["payload_bytes"])
        head = batch.data[packet["payload_at"] : packet["payload_at"] + min(size, 8)].tobytes()
        if len(head) == 8:
            found[_old_protocol(head, size)] += 1
    del found[""]
    return found


def _old_protocol(head: bytes, size: int) -> str:
    """What a payload of `size` bytes is that begins so: sFlow version 2 or 4, NetFlow version 1 or 7, or ""."""
    version, count, kind = unpack("!HHI", head)
    if version == 0 and count in (2, 4) and kind in (ADDRESS_IPV4, ADDRESS_IPV6) and size >= _SFLOW_HEAD_BYTES:
        return f"sFlow version {count}"
    head_bytes = _OLD_NETFLOW_HEADER_BYTES.get(version, 0)
    return f"NetFlow version {version}" if head_bytes and size == head_bytes + 52 * count > head_bytes else ""


@jit
def share(data: Bytes, frames: FrameIndex, packets: Packets) -> int:
    """How many packets carry what is built like an export datagram."""
    count = 0
    for i in range(len(packets)):
        packet = packets[i]
        if packet["reason"] == FINE and packet["proto"] == UDP and packet["payload_at"] > 0:
            at = packet["payload_at"]
            end = min(at + packet["payload_bytes"], frames[i]["offset"] + frames[i]["captured_bytes"])
            sent = max(packet["payload_bytes"], be16(data, at - 4) - UDP_HEADER_BYTES)  # more than a first fragment has
            if plausible(data, at, end, sent):
                count += 1
    return count


@jit
def extract_datagrams(data: Bytes, frames: FrameIndex, packets: Packets, index: Index) -> int:
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
