"""The exporters, with their losses, duplicates, late datagrams and restarts by sequence number.

Protocols count different things: sFlow and NetFlow v9 their datagrams, NetFlow v5 and IPFIX the records before this
datagram (sFlow version 5 specification, section 5; RFC 3954 section 5.1; RFC 7011 section 3.1). Exporters exist that
count the other way than their protocol says, or count this datagram's records in (Open vSwitch, softflowd); so all
three ways are followed, and the one that fits is reported. Which counters an exporter keeps is found out in
`capture.exporters.sequence_runs`.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt

from capture.exporters.datagram import IPFIX, NETFLOW5, PROTOCOLS
from capture.exporters.forgetting import Moves, forgettable, moves_without
from capture.exporters.sequence_runs import IN_ORDER, RUN_FIELDS, RUNS, first_before, place, step
from capture.jit import jit, wide
from capture.mirror.flow_table import mixed
from capture.packets.headers import be32
from capture.tables.addresses import from_words
from capture.tables.key_table import Keys, KeyTable, place_of
from capture.tables.packed_rows import pack_rows, unpack_rows
from capture.tables.read_buffer import Bytes
from datamodel.telemetry.exporter_stats import ExporterStats

Table = npt.NDArray[np.void]
Words = npt.NDArray[np.int64]
Exporter = Any  # one row of the table; numba and NumPy have no static type for its fields in common

MOST_EXPORTERS = 1 << 16  # more than any fabric has; beyond it addresses are invented
_FIRST_EXPORTERS = 64

# Places in `ExporterTable.full`.
REFUSED, TRIED_NS = range(2)
_RETRY_NS = 1_000_000_000  # between attempts to forget exporters while all are live

# What a sequence number counts; IN_RECORDS_SO_FAR: this datagram's included.
IN_DATAGRAMS, IN_RECORDS, IN_RECORDS_SO_FAR = range(3)
UNIT_NAMES = ("datagrams", "records", "records")
UNNUMBERED = "its sequence numbers follow no order: what it lost is not known"

_RECENT = 16  # datagrams whose repetition is recognised
_REJECTED = 48  # reasons a protocol may have
_UPTIMES = 8  # distinct uptimes of one exporter: each line card has its own
_UPTIME_STEP_MS = 10_000  # by which the uptimes of datagrams that overtake one another may differ
_UPTIME_WRAP_MS = 1 << 32
_EARLY_WRAP_MS = 3_600_000  # by which an uptime may wrap sooner than the arrivals say: what is replayed runs faster
_ENOUGH_TO_JUDGE = 8  # datagrams after which an exporter's way of counting is known
# A way of counting that so many datagrams, and so many times as many as another way's, do not fit is none.
_RULED_OUT_MISFITS, _RULED_OUT_RATIO = 32, 8
# Where numbers restart in more than one of so many datagrams, loss is unknown: they count nothing, or there are more
# counters than can be followed.
_DATAGRAMS_A_RESTART = 64

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
        ("uptimes", "i8", (_UPTIMES, 2)),  # in ms, and by which clock; -1 where none is known
        ("uptime", "i8"),  # which of them is the latest
        # By way of counting.
        ("runs", "u4", (3, RUNS, RUN_FIELDS)),
        ("latest", "i8", (3,)),  # run
        ("several", "i8", (3,)),  # 1: there is more than one run, or was
        ("counters", "i8", (3,)),  # begun so far
        ("hops", "i8", (3,)),  # runs that went on from another port
        ("ruled_out", "i8", (3,)),
        ("lost", "i8", (3,)),  # units
        ("misfits", "i8", (3,)),  # datagrams that continued no run
        ("late", "i8", (3,)),  # datagrams
        ("restarts", "i8", (3,)),
        ("recent", "i8", (_RECENT, 2)),  # sequence number and digest of the newest datagrams
        ("rejected", "i8", (_REJECTED,)),  # by the protocol's own reason codes
        ("protocol", "u1"),
    ],
    align=True,
)

# What forgotten exporters add to the sums; `lost` by way of counting.
FORGOTTEN_SUMS = np.dtype([("exporters", "i8"), ("lost", "i8", (3,)), ("rejected", "i8", (_REJECTED,))])


class ExporterTable:
    """The exporters of one protocol or several. Memory: 2 kB an exporter, at most `MOST_EXPORTERS`.

    Attributes:
        rows: one `EXPORTER` each; those in use come first.
        full: shape (2,): datagrams refused for lack of room, and when `forget` last made none.
    """

    def __init__(self) -> None:
        self.rows: Table = np.zeros(_FIRST_EXPORTERS, EXPORTER)
        self.full = np.array([0, -(1 << 62)], np.int64)
        self._forgotten = np.zeros(1, FORGOTTEN_SUMS)
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

    def forget(self, now_ns: int) -> Moves | None:
        """Make room in a full table (see `capture.exporters.forgetting`).

        Args:
            now_ns: when the datagram arrived that finds no room.

        Returns:
            Where the exporters are now; None where none was forgotten.
        """
        known = self.known()
        chosen = forgettable(known, now_ns, MOST_EXPORTERS // 4)
        if len(chosen) == 0:
            self.full[TRIED_NS] = now_ns
            return None
        add_lost(known[chosen], self._forgotten[0]["lost"])
        self._forgotten[0]["rejected"] += known["rejected"][chosen].sum(axis=0)
        self._forgotten[0]["exporters"] += len(chosen)
        moves = moves_without(chosen, len(known))
        moves.apply(self.rows)
        self._table.fill(exporter_keys(self.rows[: moves.kept]))
        return moves

    def reject_of_forgotten(self, reason: int, count: int) -> None:
        """Count what was left out of exporters that are forgotten."""
        self._forgotten[0]["rejected"][reason] += count

    @property
    def forgotten(self) -> int:
        """How many exporters were forgotten."""
        return int(self._forgotten[0]["exporters"])

    def lost(self) -> Counter[str]:
        """What all exporters lost, those that are forgotten included, by name of the unit."""
        sums = self._forgotten[0]["lost"].copy()
        add_lost(self.known(), sums)
        lost = Counter[str]()
        for name, count in zip(UNIT_NAMES, sums.tolist(), strict=True):
            lost[name] += count
        return lost

    def rejected(self, reasons: tuple[str, ...]) -> Counter[str]:
        """What was left out of all exporters, those that are forgotten included, by reason."""
        sums = self.known()["rejected"].sum(axis=0) + self._forgotten[0]["rejected"]
        return Counter({text: int(count) for text, count in zip(reasons, sums, strict=False) if count})

    def known(self) -> Table:
        """The rows in use."""
        return self.rows[: len(self)]

    def state(self) -> list[str]:
        """The rows in use, and the sums of those forgotten, as text, for `restore`."""
        return [pack_rows(self.known()), pack_rows(self._forgotten)]

    def restore(self, state: list[str] | str) -> None:
        """Go on with another table's `state`; one of another layout raises ValueError.

        Args:
            state: text alone, without sums, is of a version that forgot no exporter.
        """
        rows, self._forgotten = unpack_exporters(state)
        self.make_room(len(rows))
        self.rows[: len(rows)] = rows
        self._table.fill(exporter_keys(rows))


def unpack_exporters(state: list[str] | str) -> tuple[Table, Table]:
    """The rows, and the sums of those forgotten, of a table's `state`; one of another layout raises ValueError."""
    texts = [state] if isinstance(state, str) else state
    rows, forgotten = unpack_rows(texts[0], EXPORTER), np.zeros(1, FORGOTTEN_SUMS)
    for text in texts[1:]:
        forgotten = unpack_rows(text, FORGOTTEN_SUMS).copy()
    if len(rows) > MOST_EXPORTERS or len(forgotten) != 1:
        raise ValueError("exporters of another layout")
    return rows, forgotten


def exporter_keys(rows: Table) -> Words:
    """What rows of `EXPORTER` are found by."""
    return np.stack([rows["low"], rows["high"], rows["domain"] << 3 | rows["protocol"]], axis=1)


@jit
def may_forget(full: Words, time_ns: int) -> bool:
    """Whether a full table is to be asked to `forget`: not again and again while all its exporters are live."""
    return bool(abs(time_ns - full[TRIED_NS]) >= _RETRY_NS)


@jit
def exporter_of(rows: Table, keys: Keys, protocol: int, high: int, low: int, domain: int) -> int:
    """The row of an exporter, begun now if it is new; FULL where there is no room left for it."""
    known = keys.used[0]
    place = place_of(keys, (low, high, domain << 3 | protocol))
    if place == known:
        begin(rows[place], protocol, high, low, domain)
    return place


@jit
def begin(row: Exporter, protocol: int, high: int, low: int, domain: int) -> None:
    """Begin the row of a new exporter."""
    row["protocol"] = protocol
    row["high"] = high
    row["low"] = low
    row["domain"] = domain
    for k in range(_UPTIMES):
        row["uptimes"][k, 0] = -1
    for k in range(_RECENT):
        row["recent"][k, 0] = -1


@jit
def digest(data: Bytes, at: int, end: int) -> int:
    """Compute a checksum of size and bytes of `data[at:end]`; with the sequence number it identifies duplicates.

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


@jit
def is_copy(exporter: Exporter, sequence: int, time_ns: int, size: int, check: int) -> bool:
    """Whether a datagram repeats a recent one and is not to be decoded; takes note of it in either case.

    Args:
        exporter: its row.
        sequence: the datagram's sequence number.
        time_ns: when it was received.
        size: bytes of its payload.
        check: its `digest`.
    """
    if exporter["datagrams"] == 0 or time_ns < exporter["first_ns"]:
        exporter["first_ns"] = time_ns
    exporter["last_ns"] = max(exporter["last_ns"], time_ns)
    for k in range(_RECENT):
        if exporter["recent"][k, 0] == sequence and exporter["recent"][k, 1] == check:
            exporter["duplicates"] += 1
            return True
    newest = exporter["datagrams"] % _RECENT
    exporter["recent"][newest, 0] = sequence
    exporter["recent"][newest, 1] = check
    exporter["datagrams"] += 1
    exporter["bytes"] += size
    return False


@jit
def track_sequence(exporter: Exporter, port: int, sequence: int, records: int, began_anew: bool) -> int:
    """Enter a datagram's numbers by every way of counting; LATE or IN_ORDER by the exporter's own.

    Args:
        exporter: its row.
        port: UDP source port.
        sequence: the datagram's sequence number.
        records: how many records the protocol counts in it; -1 where that is not known.
        began_anew: what `uptime_fell` said of it.
    """
    own, verdict = counted_in(exporter), wide(IN_ORDER)
    # Only IPFIX numbers by transport session; in the other protocols the source's counter goes on from another port.
    session = wide(port) if exporter["protocol"] == IPFIX else wide(0)
    for unit in range(3):
        if exporter["ruled_out"][unit]:
            continue
        first, units = wide(sequence), wide(1) if unit == IN_DATAGRAMS else wide(records)
        if unit == IN_RECORDS_SO_FAR:
            first = (first - units) & 0xFFFFFFFF if units >= 0 else first_before(exporter, unit, session, first)
        found = place(exporter, wide(unit), session, first, units, began_anew)
        misfits = exporter["misfits"][unit]
        if unit == own:
            verdict = found
        elif misfits >= _RULED_OUT_MISFITS and misfits > _RULED_OUT_RATIO * exporter["misfits"][own]:
            exporter["ruled_out"][unit] = 1
    return verdict


@jit
def uptime_fell(exporter: Exporter, uptime_ms: int, clock_ms: int) -> bool:
    """Check whether a datagram's uptime continues none of its exporter's earlier ones, and record it.

    Args:
        exporter: its row.
        uptime_ms: its uptime, modulo 2^32; -1 where the protocol has none.
        clock_ms: its export time or, where it has none, its arrival.
    """
    if uptime_ms < 0:
        return False
    uptimes, latest = exporter["uptimes"], wide(exporter["uptime"])
    known = wide(-1)
    for k in range(_UPTIMES):
        if uptimes[k, 0] >= 0:
            apart = step(uptimes[k, 0] + clock_ms - uptimes[k, 1], uptime_ms)
            if abs(apart) <= _UPTIME_STEP_MS and known != latest:
                known = wide(k)
    fell = False
    if known < 0:  # the clock may have been set; the uptime counts alone then
        before = wide(uptimes[latest, 0])
        fell = before >= 0 and has_fallen(before, uptime_ms, clock_ms - uptimes[latest, 1])
        known = (latest + 1) % _UPTIMES if fell else latest
    if fell or uptimes[known, 0] < 0 or clock_ms >= uptimes[known, 1]:
        uptimes[known, 0] = uptime_ms
        uptimes[known, 1] = clock_ms
    exporter["uptime"] = known
    return fell


@jit
def has_fallen(before_ms: int, uptime_ms: int, since_ms: int) -> bool:
    """Check whether an uptime restarted; a wrap of its 32 bits after 49.7 days does not count.

    An uptime that fell has wrapped if the time that passed would carry the one before it over the end of 32 bits.

    Args:
        before_ms: uptime in the datagram before.
        uptime_ms: uptime in this one.
        since_ms: between their times.
    """
    if before_ms - uptime_ms <= _UPTIME_STEP_MS:
        return False
    return before_ms + since_ms + _EARLY_WRAP_MS < _UPTIME_WRAP_MS


@jit
def counted_in(exporter: Exporter) -> int:
    """What this exporter's sequence numbers count: what its protocol says, unless only another way fits."""
    own = IN_RECORDS if exporter["protocol"] == NETFLOW5 or exporter["protocol"] == IPFIX else IN_DATAGRAMS
    if exporter["datagrams"] < _ENOUGH_TO_JUDGE:
        return own
    best = wide(own)
    for unit in range(3):
        if not exporter["ruled_out"][unit] and (
            exporter["ruled_out"][best] or exporter["misfits"][unit] < exporter["misfits"][best]
        ):
            best = wide(unit)
    # A loss misfits every way of counting, so a way that misfits less is the exporter's.
    return best if exporter["ruled_out"][own] or exporter["misfits"][own] > 2 * exporter["misfits"][best] else own


@jit
def is_numbered(exporter: Exporter, unit: int) -> bool:
    """Whether its sequence numbers follow an order in this way of counting."""
    most = max(wide(_ENOUGH_TO_JUDGE), exporter["datagrams"] // _DATAGRAMS_A_RESTART)
    return bool(exporter["restarts"][unit] <= most)


@jit
def add_lost(rows: Table, sums: Words) -> None:
    """Add what each exporter lost to `sums`, by unit."""
    for i in range(len(rows)):
        unit = counted_in(rows[i])
        if is_numbered(rows[i], unit):
            sums[unit] += rows[i]["lost"][unit]


def busiest(rows: Table, most: int | None) -> Words:
    """Places of the exporters with most records, at most so many, in order of first sight; None: all."""
    if most is None or len(rows) <= most:
        return np.arange(len(rows))
    return np.sort(np.argsort(-rows["records"], kind="stable")[:most])


def collect_stats(exporter: Exporter, reasons: tuple[str, ...]) -> ExporterStats:
    """The account of one exporter, as far as this table knows it.

    Args:
        exporter: its row.
        reasons: text of each reason code in `rejected`.
    """
    unit = int(counted_in(exporter))
    restarts, lost, late = (int(exporter[name][unit]) for name in ("restarts", "lost", "late"))
    warnings: tuple[str, ...] = ()
    if not is_numbered(exporter, unit):
        restarts = lost = late = 0
        warnings = (UNNUMBERED,)
    rejected = {text: int(count) for text, count in zip(reasons, exporter["rejected"], strict=False) if count}
    return ExporterStats(
        protocol=PROTOCOLS[exporter["protocol"]],
        agent=from_words(int(exporter["high"]), int(exporter["low"])),
        domain=int(exporter["domain"]),
        datagrams=int(exporter["datagrams"]),
        bytes=int(exporter["bytes"]),
        records=int(exporter["records"]),
        lost=lost,
        lost_unit=UNIT_NAMES[unit],
        late=late,
        duplicates=int(exporter["duplicates"]),
        restarts=restarts,
        first_ns=int(exporter["first_ns"]),
        last_ns=int(exporter["last_ns"]),
        rejected=rejected,
        warnings=warnings,
    )
