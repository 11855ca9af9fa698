"""Who exports, and by its sequence numbers what of it was lost, came twice, came late or began anew.

Protocols count different things: sFlow and NetFlow v9 their datagrams, NetFlow v5 and IPFIX the records before this
datagram (sFlow version 5 specification, section 5; RFC 3954 section 5.1; RFC 7011 section 3.1). Exporters exist that
count the other way than their protocol says, or count this datagram's records in (Open vSwitch, softflowd); so all
three ways are followed, and the one that fits is reported.
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
from capture.key_table import Keys, KeyTable, place_of
from capture.window import Bytes
from datamodel.exporters import ExporterNotes

Table = npt.NDArray[np.void]
Exporter = Any  # one row of the table; numba and NumPy have no static type for its fields in common

MOST_EXPORTERS = 1 << 16  # more than any fabric has; beyond it addresses are invented
_FIRST_EXPORTERS = 64

# Verdicts of `arrival`.
IN_ORDER, LATE, DUPLICATE = range(3)

# What a sequence number counts; IN_RECORDS_SO_FAR: this datagram's included.
IN_DATAGRAMS, IN_RECORDS, IN_RECORDS_SO_FAR = range(3)
UNIT_NAMES = ("datagrams", "records", "records")

_RECENT = 16  # datagrams whose repetition is recognised
_REJECTED = 48  # reasons a protocol may have
_SEQUENCE_MASK = 0xFFFFFFFF
# Nothing loses so many units between two datagrams that arrive: the numbers began anew.
_LARGEST_LOSS = 1 << 26
_LARGEST_DELAY = 1 << 16  # units by which a late datagram may lag behind
_BEGAN_ANEW = 1 << 40  # beyond any difference of two sequence numbers
_UPTIME_STEP_MS = 10_000  # by which the uptimes of datagrams that overtake one another may differ
_UPTIME_WRAP_MS = 1 << 32
_EARLY_WRAP_MS = 3_600_000  # by which an uptime may wrap sooner than the arrivals say: what is replayed runs faster
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
        ("duplicates", "i8"),
        ("uptime_ms", "i8"),  # of the newest datagram; -1 where the protocol has none
        # By way of counting. The next number, -1 where not known; for IN_RECORDS_SO_FAR the newest one.
        ("expected", "i8", (3,)),
        ("lost", "i8", (3,)),  # units
        ("misfits", "i8", (3,)),  # datagrams whose number was not the one expected
        ("late", "i8", (3,)),  # datagrams
        ("restarts", "i8", (3,)),
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
        refused: shape (1,); datagrams of exporters that found the table full.
    """

    def __init__(self) -> None:
        self.rows: Table = np.zeros(_FIRST_EXPORTERS, EXPORTER)
        self.refused = np.zeros(1, np.int64)
        self._table = KeyTable(3, _FIRST_EXPORTERS)

    def __len__(self) -> int:
        return len(self._table)

    @property
    def keys(self) -> Keys:
        """What the rows are found by, valid until room is made."""
        return self._table.keys

    def make_room(self, exporters: int) -> None:
        """Have room for so many more exporters, up to `MOST_EXPORTERS`; kernels never enlarge the table."""
        needed = min(len(self) + exporters, MOST_EXPORTERS)
        if needed <= len(self.rows):
            return
        rows = np.zeros(min(max(2 * len(self.rows), needed), MOST_EXPORTERS), EXPORTER)
        rows[: len(self)] = self.known()
        self.rows = rows
        self._table.resize(len(rows))

    def known(self) -> Table:
        """The rows in use."""
        return self.rows[: len(self)]

    def state(self) -> str:
        """The rows in use as text, for `restore`."""
        return base64.b64encode(self.known().tobytes()).decode()

    def restore(self, state: str) -> None:
        """Go on with the rows of another table's `state`; those of another layout raise ValueError."""
        packed = base64.b64decode(state, validate=True)
        rows = np.frombuffer(packed, EXPORTER)
        self.make_room(len(rows))
        self.rows[: len(rows)] = rows
        self._table.fill(np.stack([rows["low"], rows["high"], rows["domain"] << 3 | rows["protocol"]], axis=1))


@compiled
def exporter_of(rows: Table, keys: Keys, protocol: int, high: int, low: int, domain: int) -> int:
    """The row of an exporter, begun now if it is new; FULL where there is no room left for it."""
    known = keys.used[0]
    place = place_of(keys, (low, high, domain << 3 | protocol))
    if place == known:
        begin(rows[place], protocol, high, low, domain)
    return place


@compiled
def begin(row: Exporter, protocol: int, high: int, low: int, domain: int) -> None:
    """Begin the row of a new exporter."""
    row["protocol"] = protocol
    row["high"] = high
    row["low"] = low
    row["domain"] = domain
    row["uptime_ms"] = -1
    for unit in range(3):
        row["expected"][unit] = -1
    for k in range(_RECENT):
        row["recent"][k, 0] = -1


@compiled
def digest(data: Bytes, at: int, end: int) -> int:
    """A check number over size and all bytes of `data[at:end]`; with the sequence number it tells copies.

    All of them count: exporters that do not number their datagrams send ones that differ in a single record. Sums of
    words and of their running sums (Fletcher) stay below 2^63 for all that UDP can carry.
    """
    total, weighted = wide(0), wide(0)
    place = at
    while place + 4 <= end:
        total += be32(data, place)
        weighted += total
        place += 4
    while place < end:
        total += wide(data[place])
        weighted += total
        place += 1
    return mixed(mixed(mixed(wide(0x5BD1E995), end - at), total), weighted)


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
    since_ms = max(time_ns - exporter["last_ns"], wide(0)) // 1_000_000
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
    began_anew = uptime_fell(exporter["uptime_ms"], uptime_ms, since_ms)
    own = counted_in(exporter)
    verdict = IN_ORDER
    for unit in range(3):
        found = placed(exporter, unit, sequence, began_anew)
        if unit == own:
            verdict = found
    if uptime_ms >= 0 and verdict == IN_ORDER:
        exporter["uptime_ms"] = uptime_ms
    return verdict


@compiled
def seen_before(exporter: Exporter, sequence: int, check: int) -> bool:
    """Whether one of the newest datagrams had this sequence number and digest."""
    seen = False
    for k in range(_RECENT):
        seen = seen or (exporter["recent"][k, 0] == sequence and exporter["recent"][k, 1] == check)
    return seen


@compiled
def placed(exporter: Exporter, unit: int, sequence: int, began_anew: bool) -> int:
    """LATE or IN_ORDER by one way of counting; what is missing before `sequence` is counted as lost."""
    if exporter["expected"][unit] < 0:
        return IN_ORDER
    ahead = step(exporter["expected"][unit], sequence)
    if began_anew or ahead >= _LARGEST_LOSS or ahead < -_LARGEST_DELAY:
        exporter["expected"][unit] = -1
        exporter["restarts"][unit] += 1
        return IN_ORDER
    if unit != IN_RECORDS_SO_FAR:
        exporter["misfits"][unit] += 1 if ahead != 0 else 0
        exporter["lost"][unit] += max(ahead, wide(0))
    if ahead < 0:
        exporter["late"][unit] += 1
        return LATE
    return IN_ORDER


@compiled
def uptime_fell(before_ms: int, uptime_ms: int, since_ms: int) -> bool:
    """Whether an exporter's clock began anew; a wrap of its 32 bits after 49.7 days is none.

    An uptime that fell has wrapped if the time that passed would carry the one before it over the end of 32 bits.

    Args:
        before_ms: uptime that the datagram before told, -1 where there is none.
        uptime_ms: what this one tells.
        since_ms: between their arrivals.
    """
    if uptime_ms < 0 or before_ms < 0 or before_ms - uptime_ms <= _UPTIME_STEP_MS:
        return False
    return before_ms + since_ms + _EARLY_WRAP_MS < _UPTIME_WRAP_MS


@compiled
def counted_in(exporter: Exporter) -> int:
    """What this exporter's sequence numbers count: what its protocol says, unless only another way fits."""
    own = IN_RECORDS if exporter["protocol"] == NETFLOW5 or exporter["protocol"] == IPFIX else IN_DATAGRAMS
    if exporter["datagrams"] < _ENOUGH_TO_JUDGE:
        return own
    best = own
    for unit in range(3):
        if exporter["misfits"][unit] < exporter["misfits"][best]:
            best = unit
    # A loss misfits every way of counting, so a way that misfits less is the exporter's.
    return best if exporter["misfits"][own] > 2 * exporter["misfits"][best] else own


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
    counted_so_far(exporter, sequence, records)


@compiled
def counted_so_far(exporter: Exporter, sequence: int, records: int) -> None:
    """The same for numbers that count the records of their own datagram in: only now can the gap before it be told."""
    newest = exporter["expected"][IN_RECORDS_SO_FAR]
    ahead = step(newest, sequence) if newest >= 0 else wide(0)
    if newest >= 0 and records >= 0:
        gap = ahead - records
        exporter["misfits"][IN_RECORDS_SO_FAR] += 1 if gap != 0 else 0
        if ahead < 0:
            exporter["lost"][IN_RECORDS_SO_FAR] = max(wide(0), exporter["lost"][IN_RECORDS_SO_FAR] - records)
        else:
            exporter["lost"][IN_RECORDS_SO_FAR] += max(gap, wide(0))
    if newest < 0 or ahead > 0:
        exporter["expected"][IN_RECORDS_SO_FAR] = sequence


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
        late=int(exporter["late"][unit]),
        duplicates=int(exporter["duplicates"]),
        restarts=int(exporter["restarts"][unit]),
        first_ns=int(exporter["first_ns"]),
        last_ns=int(exporter["last_ns"]),
        rejected=rejected,
    )
