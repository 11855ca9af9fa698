"""Sets that wait for their template, each with its datagram's header in front, so that it is a datagram of its own.

Memory: at most `MOST_BYTES`, of one exporter `MOST_OF_AN_EXPORTER_BYTES`; time: at most `LONGEST_WAIT_NS`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from capture.exporters.datagram import DATAGRAM, Datagrams
from capture.jit import jit, wide
from capture.netflow.wire.netflow_layout import Table, Tables
from capture.netflow.wire.reasons import NO_TEMPLATE, WAITING_FULL
from capture.tables.packed_rows import pack_rows, unpack_rows
from capture.tables.read_buffer import Bytes

MOST_BYTES = 32 << 20
MOST_OF_AN_EXPORTER_BYTES = 1 << 20
LONGEST_WAIT_NS = 30 * 60 * 1_000_000_000
MOST_SETS = 1 << 17

SETS, SET_BYTES = range(2)  # what `used` holds
_LARGEST_SET_BYTES = (1 << 16) + 64  # a datagram's set and its header
_FIRST_SETS = 256

WAITING = np.dtype(
    [
        ("datagram", DATAGRAM),
        ("exporter", "i4"),  # -1: it waits no longer
        ("template", "i4"),
    ],
    align=True,
)


class PendingSets:
    """The sets that wait.

    Attributes:
        data: header and set of each, one behind the other.
        index: where each lies, and what it waits for.
        used: shape (2,); how many there are, and how many bytes.
    """

    def __init__(self) -> None:
        self.data: Bytes = np.zeros(_LARGEST_SET_BYTES, np.uint8)
        self.index: Table = np.zeros(_FIRST_SETS, WAITING)
        self.used = np.zeros(2, np.int64)

    def make_room(self) -> bool:
        """Make room for one more set, however long; False where the bounds forbid it."""
        self._tidy_up()
        sets, size = (int(value) for value in self.used)
        if size + _LARGEST_SET_BYTES > MOST_BYTES or sets >= MOST_SETS:
            return False
        # What was restored has no room to spare, and none at all where nothing waited.
        if size + _LARGEST_SET_BYTES > len(self.data):
            data = np.zeros(min(4 * max(len(self.data), _LARGEST_SET_BYTES), MOST_BYTES), np.uint8)
            data[:size] = self.data[:size]
            self.data = data
        if sets >= len(self.index):
            index = np.zeros(min(4 * max(len(self.index), _FIRST_SETS), MOST_SETS), WAITING)
            index[:sets] = self.index[:sets]
            self.index = index
        return True

    def take(self, exporter: int, template: int) -> Datagrams:
        """The sets of an exporter that wait for a template; they wait no longer. Valid until the next one is kept."""
        known = self.index[: int(self.used[SETS])]
        chosen = (known["exporter"] == exporter) & (known["template"] == template)
        found = known["datagram"][chosen].copy()
        known["exporter"][chosen] = -1
        return Datagrams(self.data, found)

    def expire(self, now_ns: int) -> npt.NDArray[np.int32]:
        """Give up those that have waited too long; the exporter of each."""
        known = self.index[: int(self.used[SETS])]
        late = (known["exporter"] >= 0) & (now_ns - known["datagram"]["time_ns"] > LONGEST_WAIT_NS)
        exporters: npt.NDArray[np.int32] = known["exporter"][late].copy()
        known["exporter"][late] = -1
        return exporters

    def move(self, places: npt.NDArray[np.int64]) -> int:
        """Follow exporters to their new places (-1: forgotten); how many sets were given up with their exporters."""
        known = self.index[: int(self.used[SETS])]
        waits = known["exporter"] >= 0
        known["exporter"][waits] = places[known["exporter"][waits]]
        return int(waits.sum() - (known["exporter"] >= 0).sum())

    def waiting_sets(self, exporters: int) -> npt.NDArray[np.int64]:
        """How many sets wait, by exporter row."""
        known = self.index["exporter"][: int(self.used[SETS])]
        return np.bincount(known[known >= 0], minlength=exporters)

    def state(self) -> list[str]:
        """What waits, as text, for `restore`."""
        self._tidy_up()
        sets, size = (int(value) for value in self.used)
        return [pack_rows(self.index[:sets]), pack_rows(self.data[:size])]

    def restore(self, state: list[str]) -> None:
        """Let wait what waited in another room; what does not fit together raises ValueError."""
        index, data = unpack_rows(state[0], WAITING), unpack_rows(state[1], np.uint8)
        ends = index["datagram"]["offset"] + index["datagram"]["bytes"]
        if len(data) > MOST_BYTES or len(index) > MOST_SETS or (len(index) and int(ends.max()) > len(data)):
            raise ValueError("sets that wait lie outside their bytes")
        if len(index) and (index["datagram"]["offset"].min() < 0 or index["datagram"]["bytes"].min() < 0):
            raise ValueError("sets that wait lie outside their bytes")
        self.index, self.data = index.copy(), data.copy()
        self.used[:] = (len(index), len(data))

    def waiting_bytes(self, exporters: int) -> npt.NDArray[np.int64]:
        """Bytes that wait, by exporter row."""
        known = self.index[: int(self.used[SETS])]
        known = known[known["exporter"] >= 0]
        sums = np.bincount(known["exporter"], known["datagram"]["bytes"], exporters)
        return sums.astype(np.int64)

    def _tidy_up(self) -> None:
        """Close the gaps of sets that wait no longer."""
        known = self.index[: int(self.used[SETS])]
        kept = known[known["exporter"] >= 0]
        if len(kept) == len(known):
            return
        at = 0
        for entry in kept:
            start, size = int(entry["datagram"]["offset"]), int(entry["datagram"]["bytes"])
            self.data[at : at + size] = self.data[start : start + size].copy()
            entry["datagram"]["offset"] = at
            at += size
        self.index[: len(kept)] = kept
        self.used[:] = (len(kept), at)


def joined_waiting(states: Sequence[list[str]], places: Sequence[npt.NDArray[np.int64]]) -> list[str]:
    """The state of a room in which the sets of several wait, those that arrived first where there is no room for all.

    Args:
        states: of the rooms.
        places: for each the new place of each exporter, -1 where its sets are left out.
    """
    found: list[tuple[Table, bytes]] = []
    for state, place in zip(states, places, strict=True):
        index, data = unpack_rows(state[0], WAITING), unpack_rows(state[1], np.uint8)
        for entry in index.copy():
            start, size = int(entry["datagram"]["offset"]), int(entry["datagram"]["bytes"])
            entry["exporter"] = place[entry["exporter"]]
            if entry["exporter"] >= 0:
                found.append((entry, data[start : start + size].tobytes()))
    found.sort(key=lambda one: int(one[0]["datagram"]["time_ns"]))
    joined, content = np.zeros(len(found), WAITING), bytearray()
    taken = 0
    for entry, data_of in found[:MOST_SETS]:
        if len(content) + len(data_of) > MOST_BYTES:
            break
        joined[taken] = entry
        joined[taken]["datagram"]["offset"] = len(content)
        content += data_of
        taken += 1
    return [pack_rows(joined[:taken]), pack_rows(np.frombuffer(bytes(content), np.uint8))]


@jit
def keep_waiting(data: Bytes, tables: Tables) -> bool:
    """Let the set at hand wait for its template, or count that it cannot; False: the driver must make room first."""
    progress = tables.progress[0]
    exporter = wide(progress["exporter"])
    rejected = tables.exporters[exporter]["rejected"]
    if progress["again"]:
        rejected[NO_TEMPLATE] += 1
        return True
    header, start = wide(progress["header_bytes"]), wide(progress["set_at"])
    size = header + progress["set_end"] - start
    if progress["waiting_full"] or tables.sources[exporter]["waiting_bytes"] + size > MOST_OF_AN_EXPORTER_BYTES:
        rejected[WAITING_FULL] += 1
        return True
    sets, used = tables.waiting_used[SETS], tables.waiting_used[SET_BYTES]
    if sets >= len(tables.waiting_index) or used + size > len(tables.waiting):
        return False
    for i in range(header):
        tables.waiting[used + i] = data[progress["header_at"] + i]
    for i in range(size - header):
        tables.waiting[used + header + i] = data[start + i]
    entry = tables.waiting_index[sets]
    datagram = entry["datagram"]
    datagram["offset"] = used
    datagram["time_ns"] = progress["received_ns"]
    datagram["source_high"] = tables.exporters[exporter]["high"]
    datagram["source_low"] = tables.exporters[exporter]["low"]
    datagram["bytes"] = size
    datagram["source_port"] = progress["port"]
    datagram["destination_port"] = 0
    datagram["protocol"] = progress["protocol"]
    datagram["cut"] = 0
    datagram["in_session"] = 0  # only templates care
    entry["exporter"] = exporter
    entry["template"] = progress["set_id"]
    tables.waiting_used[SETS] = sets + 1
    tables.waiting_used[SET_BYTES] = used + size
    tables.sources[exporter]["waiting_bytes"] += size
    return True
