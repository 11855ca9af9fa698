"""Arrow columns of flow records to rows of `FLOWS`: converts, checks and counts what cannot be used.

Whole columns are converted at a time; only distinct texts (addresses, names of protocols and interfaces) are looked
at one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from capture.dialects.time_text import times
from capture.ingest_log import IngestLog
from capture.records.interface_names import resolve_interfaces
from capture.tables.addresses import canonical
from datamodel.frame import Column
from datamodel.frame_builder import FrameBuilder
from datamodel.telemetry.flows import ADDRESS_COLUMNS, FLOWS, Flows, recode

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

INTERFACES = ("in_if", "out_if")

# Names that GoFlow2 and its kin print; compared in lower case and without "-" and "_". Numbers: IANA.
PROTOCOLS = {
    "hopopt": 0, "icmp": 1, "igmp": 2, "ipip": 4, "ipv4": 4, "tcp": 6, "egp": 8, "udp": 17, "dccp": 33, "ipv6": 41,
    "rsvp": 46, "gre": 47, "esp": 50, "ah": 51, "ipv6icmp": 58, "icmpv6": 58, "eigrp": 88, "ospf": 89, "ospfigp": 89,
    "pim": 103, "vrrp": 112, "l2tp": 115, "sctp": 132, "udplite": 136,
}  # fmt: skip
NAMES = {
    "proto": PROTOCOLS,
    "flow_direction": {"ingress": 0, "egress": 1, "unknown": 255},
    "prescaled": {"true": 1, "false": 0},
    "metered": {"true": 1, "false": 0},
}

_INT64 = r"^-?([0-9]{1,18}|[0-8][0-9]{18}|9[01][0-9]{17})$"  # a little less than what 64 bits hold


class FlowRowBuilder:
    """Flow records gathered batch by batch from one file."""

    def __init__(self, ingest_log: IngestLog, expected_rows: int = 0) -> None:
        self._ledger = ingest_log
        self._rows = FrameBuilder(FLOWS, expected_rows)
        self._codes: dict[str, int] = {}  # canonical address -> code
        self._canonical: dict[str, str | None] = {}  # text met before -> canonical address, None where it is none
        self._interfaces: dict[str, int] = {}  # interface name -> its place; in the column as -1 - place until the end
        self._unknown_names = Counter[str]()

    def add(self, table: pa.Table) -> None:
        """Take in a batch: a table whose columns, of any type, are named as in `FLOWS`."""
        good = np.ones(table.num_rows, np.bool_)
        values: dict[str, Ints] = {}
        for column in FLOWS:
            if column.name in table.column_names:
                data = _whole(table[column.name])
                read = self._addresses if column.name in ADDRESS_COLUMNS else self._numbers
                values[column.name] = read(column, data, good)
        self._reject(good, values["time_flow_end_ns"] < values["time_flow_start_ns"], "ends before it starts")
        for name in ("bytes", "packets"):
            if name in values:
                self._reject(good, values[name] < 0, f"{name} is negative")
        if good.all():
            self._rows.add(len(good), values)
        else:
            self._rows.add(int(np.count_nonzero(good)), {name: column[good] for name, column in values.items()})

    def pieces(self, tables: Iterable[pa.Table], piece_rows: int) -> Iterator[Flows]:
        """The rows of batches in pieces of at least `piece_rows`, the last one of what is left.

        Once an interface is given by name, all that follows is one piece: which number a name stands for depends on the
        other names.
        """
        for table in tables:
            self.add(table)
            if len(self._rows) >= piece_rows and not self._interfaces:
                yield recode(self._rows.frame(), tuple(self._codes))
                self._rows = FrameBuilder(FLOWS)
        yield self.flows()

    def flows(self) -> Flows:
        """All rows taken in."""
        for name, count in sorted(self._unknown_names.items()):
            self._ledger.warn(f"{count} rows have a {name} of unknown name; taken as unknown")
        frame = self._rows.frame()
        if self._interfaces:
            frame = resolve_interfaces(frame, tuple(self._interfaces), self._ledger)
        return recode(frame, tuple(self._codes))

    def _reject(self, good: Mask, bad: Mask, reason: str) -> None:
        """Mark the `bad` rows; each row counts under the first reason found."""
        self._ledger.reject(f"row: {reason}", int((bad & good).sum()))
        good &= ~bad

    def _numbers(self, column: Column, data: pa.Array, good: Mask) -> Ints:
        sound = _sound(column, data)
        if sound is not None:
            return sound
        data = _decoded(data)
        empty = _blank(data)
        if column.required:
            self._reject(good, empty, f"{column.name} is missing")
        if _is_text(data):
            if column.unit == "ns":
                data = _without_dates(data)
            values, known = _parsed(data, self._reader(column))
        else:
            values, known = _cast(data)
        self._reject(good, ~known & ~empty, f"{column.name} is not a whole number")
        if column.name not in INTERFACES:
            low, high = _limits(column)
            self._reject(good, known & ((values < low) | (values > high)), f"{column.name} is out of range")
        return np.where(known & good, values, column.default)

    def _reader(self, column: Column) -> Callable[[str, int], int | None]:
        """What turns the texts of a column that are no numbers into numbers; None where a text means nothing."""
        if column.name in INTERFACES:
            return lambda text, _: -1 - self._interfaces.setdefault(text, len(self._interfaces))
        names = NAMES.get(column.name)
        if names is None:
            return lambda _text, _count: None

        def read(text: str, count: int) -> int:
            number = names.get(text.lower().replace("-", "").replace("_", ""))
            if number is None:
                self._unknown_names[column.name] += count
            return column.default if number is None else number

        return read

    def _addresses(self, column: Column, data: pa.Array, good: Mask) -> Ints:
        """Codes of a column of addresses; an exporter may also go by a name."""
        texts, places = _distinct(data)
        codes = np.full(len(texts) + 1, column.default, np.int64)  # the last one serves missing values
        known = np.zeros(len(texts) + 1, np.bool_)
        for i, text in enumerate(texts):
            if text not in self._canonical:
                self._canonical[text] = canonical(text)
            address = self._canonical[text] or (text.strip() if column.name == "sampler_address" else None)
            if address:
                codes[i] = self._codes.setdefault(address, len(self._codes))
                known[i] = True
        if column.required and (data.null_count or not known[:-1].all()) and not known[places].all():
            empty = _blank(_decoded(data))
            self._reject(good, empty, f"{column.name} is missing")
            self._reject(good, ~known[places] & ~empty, f"{column.name} is not an address")
        return codes[places]


def _whole(data: pa.ChunkedArray) -> pa.Array:
    """One array."""
    array = data.chunk(0) if data.num_chunks == 1 else data.combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # what combine_chunks gives for no or for very large data
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    return array


def _decoded(data: pa.Array) -> pa.Array:
    """An array whose dictionary, if it has one, is resolved."""
    return data.dictionary_decode() if pa.types.is_dictionary(data.type) else data


def _sound(column: Column, data: pa.Array) -> Ints | None:
    """A column of whole numbers as it is, where every one of them can stand; None where each must be looked at."""
    if not pa.types.is_integer(data.type) or data.null_count or column.name in INTERFACES:
        return None
    values = _numpy(data)
    low, high = _limits(column)
    if len(values) and (int(values.min()) < low or int(values.max()) > high):
        return None
    return values


def _is_text(data: pa.Array) -> bool:
    return bool(
        pa.types.is_string(data.type) or pa.types.is_large_string(data.type) or pa.types.is_string_view(data.type)
    )


def _blank(data: pa.Array) -> Mask:
    """Where there is no value: null, and empty text."""
    missing = data.is_null()
    if _is_text(data):
        missing = pc.or_(missing, pc.fill_null(pc.equal(pc.utf8_trim_whitespace(data), ""), True))
    return np.asarray(missing.to_numpy(zero_copy_only=False), np.bool_)


def _distinct(data: pa.Array) -> tuple[list[str], Ints]:
    """Distinct texts, and per row the place of its text (the number of texts for a missing one)."""
    if pa.types.is_dictionary(data.type) and _is_text(data.dictionary):
        encoded = data
    else:
        encoded = pc.cast(_decoded(data), pa.string()).dictionary_encode()
    texts = encoded.dictionary.to_pylist()
    return texts, _numpy(encoded.indices, len(texts)).astype(np.int64)


def _numpy(whole: pa.Array, missing: int = 0) -> Ints:
    """Whole numbers, with another for missing ones.

    Not by `to_numpy`, nor `fill_null` where that is not needed: they import pandas where it is installed, for half a
    second.
    """
    full = whole.fill_null(missing) if whole.null_count else whole
    return np.asarray(np.from_dlpack(full)) if len(full) else np.zeros(0, np.int64)


def _cast(data: pa.Array) -> tuple[Ints, Mask]:
    """Whole numbers of a column that is not text, and where there are any."""
    kind = data.type
    if pa.types.is_timestamp(kind):
        data = pc.cast(data, pa.timestamp("ns", kind.tz)).cast(pa.int64())
    elif pa.types.is_floating(kind):
        whole = pc.and_(pc.equal(data, pc.round(data)), pc.less(pc.abs(data), 2.0**63))
        data = pc.if_else(pc.fill_null(whole, False), data, pa.scalar(None, kind)).cast(pa.int64())
    elif pa.types.is_uint64(kind):
        data = pc.if_else(pc.less_equal(data, pa.scalar(2**63 - 1, kind)), data, pa.scalar(None, kind)).cast(pa.int64())
    elif pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        data = data.cast(pa.int64())
    else:
        data = pa.nulls(len(data), pa.int64())
    known = np.asarray(data.is_valid().to_numpy(zero_copy_only=False), np.bool_)
    return _numpy(data).copy(), known


def _parsed(data: pa.Array, other: Callable[[str, int], int | None]) -> tuple[Ints, Mask]:
    """Whole numbers of a column of text, and where there are any; texts that are no numbers go to `other`."""
    data = pc.utf8_trim_whitespace(data)
    digits = pc.fill_null(pc.match_substring_regex(data, _INT64), False)
    numeric = pc.if_else(digits, data, pa.scalar(None, data.type)).cast(pa.int64())
    known = np.asarray(digits.to_numpy(zero_copy_only=False), np.bool_)
    values = _numpy(numeric).copy()
    if not known.all():
        texts, places = _distinct(pc.if_else(digits, pa.scalar(None, data.type), data))
        rows = np.bincount(places, minlength=len(texts) + 1)
        meant = [None if text == "" else other(text, int(count)) for text, count in zip(texts, rows, strict=False)]
        named = np.array([number is not None for number in [*meant, None]])[places]
        values[named] = np.array([number or 0 for number in [*meant, None]], np.int64)[places[named]]
        known |= named
    return values, known


def _without_dates(data: pa.Array) -> pa.Array:
    """Texts of times, dates with a zone (as GoFlow2 renders times on request) turned into nanoseconds."""
    dated = pc.fill_null(pc.match_substring_regex(data, r"^\s*[0-9]{4}-"), False)
    if not pc.any(dated).as_py():
        return data
    found = times(pc.if_else(dated, data, pa.scalar(None, data.type)))
    ns = pa.array(found.ns, mask=~found.known | found.zoneless).cast(pa.string())
    return pc.if_else(dated, pc.coalesce(ns, data.cast(pa.string())), data.cast(pa.string()))


def _limits(column: Column) -> tuple[int, int]:
    dtype = np.dtype(column.dtype)
    if dtype == np.bool_:
        return 0, 1
    return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
