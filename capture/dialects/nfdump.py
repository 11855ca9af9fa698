"""nfdump's CSV (`nfdump -o csv`) as columns of `FLOWS`, under the headers of nfdump 1.6 to 1.7.

Up to 1.7.4 columns have short names and times are local and cut to whole seconds; since then columns have long names
and times have milliseconds. nfdump scales bytes and packets by the sampling rate when it collects, and no column says
by how much.
"""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from capture.dialects.dialect import RecordDialect, dates_only, numbers, text_column
from capture.dialects.time_text import Times, times
from datamodel.durations import SECOND_NS

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# Our column and its names, oldest first.
_RENAMED = {
    "src_addr": ("sa", "srcAddr"),
    "dst_addr": ("da", "dstAddr"),
    "src_port": ("sp", "srcPort"),
    "proto": ("pr", "proto"),
    "bytes": ("ibyt", "bytes", "inBytes"),
    "packets": ("ipkt", "packets", "inPackets"),
    "in_if": ("in", "input"),
    "out_if": ("out", "output"),
    "ip_tos": ("stos", "tos", "srcTos"),
    "observation_domain_id": ("obsDomainID",),
}
_START, _END, _DURATION, _RECEIVED = ("ts", "firstSeen"), ("te", "lastSeen"), ("td", "duration"), ("tr", "received")
_PORT, _FLAGS, _ROUTER = ("dp", "dstPort"), ("flg", "flags"), ("ra", "routerIP")
_DIRECTION, _OUT_BYTES = ("dir", "direction"), ("obyt", "outBytes")
_FLAG_BITS = {"F": 1, "S": 2, "R": 4, "P": 8, "A": 16, "U": 32, "E": 64, "C": 128}
_DURATION_FORM = re.compile(r"(?:(?:(\d+)d )?(\d+):(\d\d):)?(\d+)(?:\.(\d{1,9}))?")
_HEXADECIMAL = re.compile("0x[0-9a-fA-F]{1,4}")
_TRAILER = re.compile(
    r"\s*(Summary.*|flows,bytes,packets,.*|\d+(,[\d.]+){5}|No matching flows.*"
    r"|Time window:.*|Total (flows|records).*|Sys:.*|Wall:.*)\s*"
)


def _translate(table: pa.Table, doubts: Counter[str]) -> pa.Table:
    columns = {
        ours: text_column(table, *theirs)
        for ours, theirs in _RENAMED.items()
        if any(name in table.column_names for name in theirs)
    }
    # ICMP has type and code where others have a port, as "8.0".
    port = text_column(table, *_PORT)
    columns["dst_port"] = pc.if_else(pc.match_substring(port, "."), pa.scalar(None, pa.string()), port)
    columns["tcp_flags"] = _flags(text_column(table, *_FLAGS))
    router = text_column(table, *_ROUTER)
    unknown = pc.is_in(router, pa.array(["0.0.0.0", "::"]))  # noqa: S104 - an address that stands for none
    columns["sampler_address"] = pc.if_else(unknown, pa.scalar(None, pa.string()), router)
    # 0 stands for ingress and for what no exporter said.
    egress = np.asarray(pc.fill_null(pc.is_in(text_column(table, *_DIRECTION), pa.array(["1", "E"])), False))
    columns["flow_direction"] = pa.array(np.where(egress, 1, 255))
    columns["sampling_rate"] = pa.array(np.ones(table.num_rows, np.int64))
    columns["prescaled"] = pa.array(np.ones(table.num_rows, np.bool_))
    doubts["are taken as scaled by nfdump, which scales by the rates it learnt and not by others"] += table.num_rows
    returning = pc.fill_null(pc.not_equal(text_column(table, *_OUT_BYTES), "0"), False)
    doubts["also count bytes of another direction (obyt); those are left out"] += int(pc.sum(returning).as_py() or 0)
    return pa.table(columns | _times(table, doubts))


def _times(table: pa.Table, doubts: Counter[str]) -> dict[str, pa.Array]:
    reported = times(text_column(table, *_START))
    start, end = dates_only(reported), dates_only(times(text_column(table, *_END)))
    received = times(text_column(table, *_RECEIVED))
    duration_ns, timed = _durations(text_column(table, *_DURATION))
    lasting = np.where(timed, duration_ns, end.ns - start.ns)
    first, uncertainty = _placed(start, end, lasting, timed)
    early = reported.known & ~start.known
    doubts["start before 1990, which is an uptime and no date; that is taken as missing"] += int(early.sum())
    doubts["have times without a zone; taken as UTC (run nfdump with TZ=UTC)"] += int(start.zoneless.sum())
    doubts["have times cut to whole seconds; their uncertainty is kept"] += int((uncertainty > 0).sum())
    return {
        "time_flow_start_ns": numbers(first, start.known),
        "time_flow_end_ns": numbers(first + lasting, start.known & (timed | end.known)),
        "time_received_ns": numbers(received.ns, received.known),
        "time_uncertainty_ns": pa.array(uncertainty),
    }


def _placed(start: Times, end: Times, lasting: Ints, timed: Mask) -> tuple[Ints, Ints]:
    """Starts, and half the width of what they may be off.

    A start cut to a second lies anywhere in it. The end, cut likewise, and the duration, which is not cut, narrow
    that down; the middle of what remains is taken.
    """
    low, high = start.ns, start.ns + SECOND_NS
    narrowed = end.known & end.whole_seconds & timed
    low = np.where(narrowed, np.maximum(low, end.ns - lasting), low)
    high = np.where(narrowed, np.minimum(high, end.ns + SECOND_NS - lasting), high)
    half = np.where(start.known & start.whole_seconds & (high > low), (high - low) // 2, 0)
    return np.where(half > 0, low + half, start.ns), half


def _durations(data: pa.Array) -> tuple[Ints, Mask]:
    """Durations in ns and where there are any: "32.700" and "00:00:32.700"."""
    encoded = pc.utf8_trim_whitespace(data).dictionary_encode()
    meant = [_duration_ns(text.as_py()) for text in encoded.dictionary] + [None]
    places = np.asarray(encoded.indices.fill_null(len(meant) - 1).to_numpy(zero_copy_only=False), np.int64)
    known = np.array([length is not None for length in meant], np.bool_)
    return np.array([length or 0 for length in meant], np.int64)[places], known[places]


def _duration_ns(text: str) -> int | None:
    found = _DURATION_FORM.fullmatch(text)
    if found is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups()[:4])
    whole = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    return whole * SECOND_NS + int((found[5] or "").ljust(9, "0")) if whole < SECOND_NS else None


def _flags(data: pa.Array) -> pa.Array:
    """TCP flags of texts like "...AP.SF", and of numbers."""
    encoded = data.dictionary_encode()
    meant = pa.array([_flag_bits(text.as_py().strip()) for text in encoded.dictionary], pa.int64())
    return pa.DictionaryArray.from_arrays(encoded.indices, meant).dictionary_decode()


def _flag_bits(text: str) -> int | None:
    if text.isdecimal():
        return int(text)
    if _HEXADECIMAL.fullmatch(text):
        return int(text, 16)
    return sum(_FLAG_BITS.get(letter, 0) for letter in set(text))


NFDUMP = RecordDialect(
    name="nfdump CSV",
    signature=(frozenset({"ts", "sa", "da"}), frozenset({"firstSeen", "srcAddr", "dstAddr"})),
    columns=frozenset(
        name
        for names in (*_RENAMED.values(), _START, _END, _DURATION, _RECEIVED, _PORT, _FLAGS, _ROUTER, _DIRECTION,
                      _OUT_BYTES)
        for name in names
    ),
    required=(*(_RENAMED[name] for name in ("src_addr", "dst_addr", "bytes")), _START, _END + _DURATION),
    translate=_translate,
    is_framing=lambda line: _TRAILER.fullmatch(line) is not None,
)  # fmt: skip
