"""UDP datagrams that were sent in IP fragments, put together again (RFC 791 section 3.2, RFC 8200 section 4.5)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from capture.files.capture_file import BATCH_FRAMES, Batch
from capture.jit import jit, wide
from capture.packets.headers import (
    ETHERNET,
    FRAGMENT_HEADER,
    IPV4,
    IPV6,
    MAX_EXTENSIONS,
    be16,
    be32,
    behind,
    ethernet,
    is_extension,
    link_layer,
    unlabelled,
)
from capture.packets.packet_columns import FINE, Packets, Record
from capture.tables.frame_index import Index
from capture.tables.read_buffer import Bytes
from datamodel.telemetry.flows import UDP

UDP_HEADER_BYTES = 8
LONGEST_BYTES = 65_535
PATIENCE_NS = 10**9  # fragments of a datagram follow one another; what lacks one for so long will not get it
MOST_OPEN = 256  # of 64 KiB at most

FRAGMENT = np.dtype(
    [
        ("packet", "i8"),  # which of the batch
        ("ident", "i8"),
        ("place", "i4"),  # of its first byte in the datagram
        ("sent_bytes", "i4"),
        ("at", "i8"),  # of its first byte in the data
        ("bytes", "i4"),  # at hand
        ("more", "u1"),  # 1: it is not the last one
    ],
    align=True,
)

Fragments = npt.NDArray[np.void]


@dataclass(slots=True)
class Datagram:
    """A datagram being put together.

    Attributes:
        begun_ns: when its first fragment came.
        source: its source address as two signed 64-bit words.
        time_ns: when the newest one came.
        at: where the fragment that came last lies in its batch.
        pieces: by place in the datagram, the bytes at hand and how many were sent.
        whole_bytes: how long it is; 0 until its last fragment has come.
    """

    begun_ns: int
    source: tuple[int, int]
    time_ns: int = 0
    at: int = 0
    pieces: dict[int, tuple[bytes, int]] = field(default_factory=dict)
    whole_bytes: int = 0

    def content(self) -> tuple[bytes, bool]:
        """Its bytes from the first one to the first that is missing, and whether none is."""
        out = b""
        while piece := self.pieces.get(len(out)):
            out += piece[0]
            if len(piece[0]) < piece[1]:
                return out, False
        return out, len(out) == self.whole_bytes > 0

    @property
    def is_complete(self) -> bool:
        """Whether as many bytes were sent as it has, or as any can have: snap lengths cut, fragments may overlap."""
        return sum(sent for _, sent in self.pieces.values()) >= (self.whole_bytes or LONGEST_BYTES)


class Reassembly:
    """Datagrams with received fragments. Memory: 32 MiB at most."""

    def __init__(self) -> None:
        self._rows = np.zeros(BATCH_FRAMES, FRAGMENT)
        self._open: OrderedDict[tuple[int, ...], Datagram] = OrderedDict()

    def feed(self, batch: Batch) -> Iterator[Datagram]:
        """The datagrams that a batch completes or that have waited in vain, and marks the batch's fragments as such."""
        for row in self._rows[: find(batch.data, batch.index, batch.packets, self._rows)]:
            packet = batch.packets[row["packet"]]
            yield from self._overdue(int(packet["time_ns"]))
            source = (int(packet["src_high"]), int(packet["src_low"]))
            key = (*source, int(packet["dst_high"]), int(packet["dst_low"]), int(row["ident"]))
            datagram = self._open.setdefault(key, Datagram(int(packet["time_ns"]), source))
            datagram.time_ns, datagram.at = int(packet["time_ns"]), int(row["at"])
            piece = batch.data[row["at"] : row["at"] + row["bytes"]].tobytes()
            datagram.pieces.setdefault(int(row["place"]), (piece, int(row["sent_bytes"])))
            if not row["more"]:
                datagram.whole_bytes = int(row["place"] + row["sent_bytes"])
            if datagram.is_complete:
                yield self._open.pop(key)

    def rest(self) -> Iterator[Datagram]:
        """Those that lack something when the capture ends."""
        while self._open:
            yield self._open.popitem(last=False)[1]

    def _overdue(self, now_ns: int) -> Iterator[Datagram]:
        while self._open:
            oldest = next(iter(self._open.values()))
            if len(self._open) < MOST_OPEN and now_ns - oldest.begun_ns <= PATIENCE_NS:
                return
            oldest.at = 0
            yield self._open.popitem(last=False)[1]


@jit
def find(data: Bytes, frames: Index, packets: Packets, rows: Fragments) -> int:
    """Fill `rows` with the UDP fragments among packets, first ones too, and mark these; the answer is their number."""
    count = 0
    for i in range(len(packets)):
        if packets[i]["reason"] != FINE or packets[i]["proto"] != UDP:
            continue
        start = frames[i]["offset"]
        row = rows[count]
        if not fragment(data, start, start + frames[i]["captured_bytes"], frames[i]["link"], row):
            continue
        if row["place"] == 0 and packets[i]["payload_at"] != row["at"] + UDP_HEADER_BYTES:
            continue  # what is fragmented is a tunnel around it
        row["packet"] = i
        packets[i]["fragment"] = 1
        count += 1
    return count


@jit
def fragment(data: Bytes, at: int, end: int, link: int, row: Record) -> bool:
    """Fill `row` from the frame `data[at:end]`, which has complete IP headers; False where it is no fragment."""
    kind, at = link_layer(data, at, end, link)
    if kind == ETHERNET:
        kind, at = ethernet(data, at, end)
    kind, at = unlabelled(data, kind, at, end)
    if kind == IPV4:
        word = be16(data, at + 6)
        place, more = (word & 0x1FFF) * 8, (word >> 13) & 1
        row["ident"] = be16(data, at + 4)
        inside, stop = at + (wide(data[at]) & 15) * 4, at + be16(data, at + 2)
    elif kind == IPV6:
        head = fragment_header(data, at, end)
        if head < 0:
            return False
        word = be16(data, head + 2)
        place, more = word & 0xFFF8, word & 1
        row["ident"] = be32(data, head + 4)
        inside, stop = head + 8, at + 40 + be16(data, at + 4)
    else:
        return False
    if (place == 0 and more == 0) or stop <= inside:
        return False
    row["place"] = place
    row["more"] = more
    row["at"] = inside
    row["sent_bytes"] = stop - inside
    row["bytes"] = max(min(stop, end) - inside, 0)
    return True


@jit
def fragment_header(data: Bytes, at: int, end: int) -> int:
    """Where the fragment header of the IPv6 packet at `at` lies; -1 where it has none."""
    proto, at = wide(data[at + 6]), at + 40
    for _ in range(MAX_EXTENSIONS):
        if at + 8 > end or not is_extension(proto):
            return -1
        if proto == FRAGMENT_HEADER:
            return at
        proto, at = behind(data, proto, at)
    return -1
