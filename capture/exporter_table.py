"""Who exports, and by its sequence numbers what of it was lost, came twice, came late or began anew.

Protocols count different things: sFlow and NetFlow v9 their datagrams, NetFlow v5 and IPFIX the records before this
datagram (sFlow version 5 specification, section 5; RFC 3954 section 5.1; RFC 7011 section 3.1). Exporters exist that
count the other way than their protocol says; so both ways are followed, and the one that fits is reported.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import numpy.typing as npt

from capture.addresses import from_words
from capture.compiled import compiled, wide
from capture.datagram import IPFIX, NETFLOW5, PROTOCOLS
from capture.flow_table import mixed
from capture.headers import be32
from capture.window import Bytes
from datamodel.exporters import ExporterNotes

Table = npt.NDArray[np.void]
Exporter = Any  # one row of the table; numba and NumPy have no static type for its fields in common

MOST_EXPORTERS = 1 << 16  # more than any fabric has; beyond it addresses are invented
FULL = -1  # answer of `exporter_of` when a new exporter would be one too many

# Verdicts of `arrival`.
IN_ORDER, LATE, DUPLICATE = range(3)

IN_DATAGRAMS, IN_RECORDS = range(2)  # what a sequence number counts
UNIT_NAMES = ("datagrams", "records")

_RECENT = 16  # datagrams whose repetition is recognised
_REJECTED = 48  # reasons a protocol may have
_SEQUENCE_MASK = 0xFFFFFFFF
# Nothing loses so many units between two datagrams that arrive: the numbers began anew.
_LARGEST_LOSS = 1 << 26
_LARGEST_DELAY = 1 << 16  # units by which a late datagram may lag behind
_BEGAN_ANEW = 1 << 40  # beyond any difference of two sequence numbers
_UPTIME_STEP_MS = 10_000  # by which the uptimes of datagrams that overtake one another may differ
_ENOUGH_TO_JUDGE = 8  # datagrams after which an exporter's way of counting is known

EXPORTER = np.dtype(
    [
        ("high", "i8"),  # agent or source address, as in DATAGRAM
        ("low", "i8"),
        ("domain", "i8"),  # sub-agent, engine, source id or observation domain
        ("first_ns", "i8"),
        ("last_ns", "i8"),
        ("datagrams", "i8"),
        ("bytes", "i8"),
        ("records", "i8"),
        ("late", "i8"),
        ("duplicates", "i8"),
        ("restarts", "i8"),
        ("uptime_ms", "i8"),  # of the newest datagram; -1 where the protocol has none
        # Both ways of counting (IN_DATAGRAMS, IN_RECORDS): next number (-1 not known), units lost, times it misfitted.
        ("expected", "i8", (2,)),
        ("lost", "i8", (2,)),
        ("misfits", "i8", (2,)),
        ("recent", "i8", (_RECENT, 2)),  # sequence number and digest of the newest datagrams
        ("rejected", "i8", (_REJECTED,)),  # by the protocol's own reason codes
        ("protocol", "u1"),
    ],
    align=True,
)


class ExporterTable:
    """The exporters of one protocol or several. Memory: 1 kB an exporter, at most `MOST_EXPORTERS`.

    Attributes:
        rows: one `EXPORTER` each; those in use come first.
        slots: hash table of their places; -1 where free; its size is a power of two.
        used: shape (1,); how many are in use.
        refused: shape (1,); datagrams of exporters that found the table full.
    """

    def __init__(self) -> None:
        self.rows: Table = np.zeros(64, EXPORTER)
        self.slots: npt.NDArray[np.int32] = np.full(256, -1, np.int32)
        self.used = np.zeros(1, np.int64)
        self.refused = np.zeros(1, np.int64)

    def make_room(self, exporters: int) -> None:
        """Have room for so many more exporters, up to `MOST_EXPORTERS`; kernels never enlarge the table."""
        used = int(self.used[0])
        needed = min(used + exporters, MOST_EXPORTERS)
        if needed <= len(self.rows):
            return
        rows = np.zeros(min(max(2 * len(self.rows), needed), MOST_EXPORTERS), EXPORTER)
        rows[:used] = self.rows[:used]
        self.rows = rows
        self.slots = np.full(1 << (2 * len(rows)).bit_length(), -1, np.int32)
        rehash(self.rows, used, self.slots)

    def known(self) -> Table:
        """The rows in use."""
        return self.rows[: int(self.used[0])]

    def state(self) -> str:
        """The rows in use as text, for `restore`."""
        return base64.b64encode(self.known().tobytes()).decode()

    def restore(self, state: str) -> None:
        """Go on with the rows of another table's `state`; those of another layout raise ValueError."""
        packed = base64.b64decode(state, validate=True)
        rows = np.frombuffer(packed, EXPORTER)
        self.make_room(len(rows))
        self.rows[: len(rows)] = rows
        self.used[0] = len(rows)
        self.slots[:] = -1
        rehash(self.rows, len(rows), self.slots)


@compiled
def slot_of(rows: Table, slots: npt.NDArray[np.int32], protocol: int, high: int, low: int, domain: int) -> int:
    """The slot that holds this exporter, or the free one where it belongs."""
    state = mixed(mixed(mixed(wide(0x5BD1E995), low), high), domain << 3 | protocol)
    mask = len(slots) - 1
    slot = state & mask
    while slots[slot] >= 0:
        row = rows[slots[slot]]
        if row["low"] == low and row["high"] == high and row["domain"] == domain and row["protocol"] == protocol:
            break
        slot = (slot + 1) & mask
    return slot


@compiled
def rehash(rows: Table, count: int, slots: npt.NDArray[np.int32]) -> None:
    """Enter the first `count` exporters into `slots`, which are all free."""
    for i in range(count):
        row = rows[i]
        slots[slot_of(rows, slots, row["protocol"], row["high"], row["low"], row["domain"])] = i


@compiled
def exporter_of(
    rows: Table,
    slots: npt.NDArray[np.int32],
    used: npt.NDArray[np.int64],
    protocol: int,
    high: int,
    low: int,
    domain: int,
) -> int:
    """The row of an exporter, begun now if it is new; FULL where there is no room left for it."""
    slot = slot_of(rows, slots, protocol, high, low, domain)
    if slots[slot] >= 0:
        return wide(slots[slot])
    place = used[0]
    if place >= len(rows):
        return FULL
    row = rows[place]
    row["protocol"] = protocol
    row["high"] = high
    row["low"] = low
    row["domain"] = domain
    row["uptime_ms"] = -1
    row["first_ns"] = 0
    for unit in range(2):
        row["expected"][unit] = -1
    for k in range(_RECENT):
        row["recent"][k, 0] = -1
    slots[slot] = place
    used[0] = place + 1
    return wide(place)


@compiled
def digest(data: Bytes, at: int, end: int) -> int:
    """A check number over size and last 64 bytes of `data[at:end]`; with the sequence number it tells copies."""
    state = mixed(wide(0x5BD1E995), end - at)
    place = max(at, end - 64)
    while place + 4 <= end:
        state = mixed(state, be32(data, place))
        place += 4
    return state


@compiled
def step(expected: int, sequence: int) -> int:
    """By how much `sequence` is ahead of what was expected, modulo 2^32, as a signed number."""
    ahead = (sequence - expected) & _SEQUENCE_MASK
    return ahead - (_SEQUENCE_MASK + 1) if ahead > _SEQUENCE_MASK >> 1 else ahead


@compiled
def arrival(exporter: Exporter, sequence: int, uptime_ms: int, time_ns: int, size: int, check: int) -> int:
    """Take note of a datagram before it is decoded; the answer is IN_ORDER, LATE or DUPLICATE (not to be decoded).

    Args:
        exporter: its row.
        sequence: the datagram's sequence number.
        uptime_ms: the exporter's uptime that the datagram tells, modulo 2^32; -1 where the protocol has none.
        time_ns: when it was received.
        size: bytes of its payload.
        check: its `digest`.
    """
    if exporter["datagrams"] == 0 or time_ns < exporter["first_ns"]:
        exporter["first_ns"] = time_ns
    exporter["last_ns"] = max(exporter["last_ns"], time_ns)
    if exporter["expected"][IN_DATAGRAMS] != sequence and seen_before(exporter, sequence, check):
        exporter["duplicates"] += 1
        return DUPLICATE
    place = exporter["datagrams"] % _RECENT
    exporter["recent"][place, 0] = sequence
    exporter["recent"][place, 1] = check
    exporter["datagrams"] += 1
    exporter["bytes"] += size
    began_anew = uptime_fell(exporter, uptime_ms)
    late = False
    own = counted_in(exporter)
    for unit in range(2):
        ahead = placed(exporter, unit, sequence, began_anew)
        if unit == own:
            began_anew = began_anew or ahead == _BEGAN_ANEW
            late = ahead < 0
    if began_anew:
        exporter["restarts"] += 1
    elif late:
        exporter["late"] += 1
        return LATE
    if uptime_ms >= 0:
        exporter["uptime_ms"] = uptime_ms
    return IN_ORDER


@compiled
def seen_before(exporter: Exporter, sequence: int, check: int) -> bool:
    """Whether one of the newest datagrams had this sequence number and digest."""
    seen = False
    for k in range(_RECENT):
        seen = seen or (exporter["recent"][k, 0] == sequence and exporter["recent"][k, 1] == check)
    return seen


@compiled
def placed(exporter: Exporter, unit: int, sequence: int, began_anew: bool) -> int:
    """Units by which `sequence` is ahead of what was expected, counted as lost; or _BEGAN_ANEW."""
    if exporter["expected"][unit] < 0:
        return 0
    ahead = step(exporter["expected"][unit], sequence)
    if ahead != 0:
        exporter["misfits"][unit] += 1
    if began_anew or ahead >= _LARGEST_LOSS or ahead < -_LARGEST_DELAY:
        exporter["expected"][unit] = -1
        return _BEGAN_ANEW
    if ahead > 0:
        exporter["lost"][unit] += ahead
    return ahead


@compiled
def uptime_fell(exporter: Exporter, uptime_ms: int) -> bool:
    """Whether the exporter's clock began anew; a wrap of its 32 bits after 49.7 days is none."""
    if uptime_ms < 0 or exporter["uptime_ms"] < 0:
        return False
    return step(exporter["uptime_ms"], uptime_ms) < -_UPTIME_STEP_MS


@compiled
def counted_in(exporter: Exporter) -> int:
    """What this exporter's sequence numbers count: what its protocol says, unless only the other way fits."""
    own = IN_RECORDS if exporter["protocol"] == NETFLOW5 or exporter["protocol"] == IPFIX else IN_DATAGRAMS
    other = 1 - own
    judged = exporter["datagrams"] >= _ENOUGH_TO_JUDGE
    if judged and exporter["misfits"][own] > 2 * exporter["misfits"][other] + exporter["datagrams"] // 4:
        return other
    return own


@compiled
def decoded(exporter: Exporter, sequence: int, verdict: int, records: int) -> None:
    """Take note of what a datagram held, and so of the sequence number that should come next.

    Args:
        exporter: its row.
        sequence: the datagram's sequence number.
        verdict: what `arrival` said of it; not DUPLICATE.
        records: how many records the protocol counts in it; -1 where that is not known.
    """
    for unit in range(2):
        units = records if unit == IN_RECORDS else wide(1)
        if units < 0:
            exporter["expected"][unit] = -1
            continue
        after = (sequence + units) & _SEQUENCE_MASK
        if exporter["expected"][unit] < 0 or step(exporter["expected"][unit], after) > 0:
            exporter["expected"][unit] = after
        elif verdict == LATE:
            exporter["lost"][unit] = max(wide(0), exporter["lost"][unit] - units)


def notes(exporter: Exporter, reasons: tuple[str, ...]) -> ExporterNotes:
    """The account of one exporter, as far as this table knows it.

    Args:
        exporter: its row.
        reasons: text of each reason code in `rejected`.
    """
    unit = int(counted_in(exporter))
    rejected = {text: int(count) for text, count in zip(reasons, exporter["rejected"], strict=False) if count}
    return ExporterNotes(
        protocol=PROTOCOLS[exporter["protocol"]],
        agent=from_words(int(exporter["high"]), int(exporter["low"])),
        domain=int(exporter["domain"]),
        datagrams=int(exporter["datagrams"]),
        bytes=int(exporter["bytes"]),
        records=int(exporter["records"]),
        lost=int(exporter["lost"][unit]),
        lost_unit=UNIT_NAMES[unit],
        late=int(exporter["late"]),
        duplicates=int(exporter["duplicates"]),
        restarts=int(exporter["restarts"]),
        first_ns=int(exporter["first_ns"]),
        last_ns=int(exporter["last_ns"]),
        rejected=rejected,
    )
