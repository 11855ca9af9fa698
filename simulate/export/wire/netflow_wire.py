"""NetFlow v5, NetFlow v9 and IPFIX on the wire: records, templates and heads of datagrams as rows of bytes.

Field numbers are NetFlow v9's field types (RFC 3954 section 8) and IPFIX's information elements (IANA), which share
those up to 127.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from capture.netflow.templates.v5_template import V5_FIELDS
from capture.netflow.wire.netflow_layout import (
    FIRST_DATA_SET,
    IPFIX_HEADER_BYTES,
    IPFIX_OPTIONS_TEMPLATES,
    IPFIX_TEMPLATES,
    SET_HEADER_BYTES,
    V5_HEADER_BYTES,
    V9_HEADER_BYTES,
    V9_OPTIONS_TEMPLATES,
    V9_TEMPLATES,
)
from datamodel.reconstructed.streams import Int
from simulate.export.feed_spec import Kind
from simulate.export.wire.packet_headers import Rows

Fields = tuple[tuple[int, int], ...]
Words = Mapping[int, Int]

(
    BYTES, PACKETS, PROTO, TOS, TCP_FLAGS, SRC_PORT, SRC, IN_IF, DST_PORT, DST, OUT_IF, LAST_UPTIME, FIRST_UPTIME,
    SAMPLER, SAMPLER_MODE, SAMPLER_INTERVAL, DIRECTION, START_MS, END_MS, SELECTOR, ALGORITHM, PACKET_INTERVAL,
    PACKET_SPACE,
) = (1, 2, 4, 5, 6, 7, 8, 10, 11, 12, 14, 21, 22, 48, 49, 50, 61, 152, 153, 302, 304, 305, 306)  # fmt: skip

_SHARED: Fields = (
    (SRC, 4), (DST, 4), (SRC_PORT, 2), (DST_PORT, 2), (PROTO, 1), (TOS, 1), (TCP_FLAGS, 1), (DIRECTION, 1), (IN_IF, 4),
    (OUT_IF, 4), (BYTES, 8), (PACKETS, 8),
)  # fmt: skip
FIELDS: dict[Kind, Fields] = {
    "netflow5": V5_FIELDS,
    "netflow9": (*_SHARED, (FIRST_UPTIME, 4), (LAST_UPTIME, 4), (SAMPLER, 1)),
    "ipfix": (*_SHARED, (START_MS, 8), (END_MS, 8), (SELECTOR, 4)),
}
FLOW_SET, OPTIONS_SET = FIRST_DATA_SET, FIRST_DATA_SET + 1
ONLY_SAMPLER = 1
_RANDOM_V9, _RANDOM_IPFIX = 2, 3  # FLOW_SAMPLER_MODE; psamp's selectorAlgorithm "random n-out-of-N" (RFC 5477)
_RANDOM_V5 = 2
_SCOPE_SYSTEM = 1
MASK32 = (1 << 32) - 1

HEADS: dict[Kind, np.dtype[np.void]] = {
    "netflow5": np.dtype(
        [
            ("version", ">u2"), ("count", ">u2"), ("uptime_ms", ">u4"), ("seconds", ">u4"), ("nanoseconds", ">u4"),
            ("sequence", ">u4"), ("engine", ">u2"), ("sampling", ">u2"),
        ]
    ),
    "netflow9": np.dtype(
        [
            ("version", ">u2"), ("count", ">u2"), ("uptime_ms", ">u4"), ("seconds", ">u4"), ("sequence", ">u4"),
            ("domain", ">u4"),
        ]
    ),
    "ipfix": np.dtype(
        [("version", ">u2"), ("length", ">u2"), ("seconds", ">u4"), ("sequence", ">u4"), ("domain", ">u4")]
    ),
}  # fmt: skip
VERSIONS: dict[Kind, int] = {"netflow5": 5, "netflow9": 9, "ipfix": 10}
HEAD_BYTES: dict[Kind, int] = {
    "netflow5": V5_HEADER_BYTES, "netflow9": V9_HEADER_BYTES, "ipfix": IPFIX_HEADER_BYTES,
}  # fmt: skip
DOMAIN = 0
OPTIONS_RECORDS, TEMPLATE_RECORDS = 1, 2  # in a datagram with templates


@dataclass(frozen=True, slots=True)
class Heads:
    """Fields of datagram headers; (n,) each.

    Attributes:
        time_ns: of the exporter's clock when it was sent.
        uptime_ms: since it was switched on.
        sequence: as the protocol counts.
        records: flow records behind it.
        rate: sampling rate that is announced.
        with_templates: templates and the sampling rate come with it.
    """

    time_ns: Int
    uptime_ms: Int
    sequence: Int
    records: Int
    rate: Int
    with_templates: npt.NDArray[np.bool_]


def record_bytes(kind: Kind) -> int:
    """Bytes of a flow record."""
    return sum(size for _, size in FIELDS[kind])


def template_bytes(kind: Kind) -> int:
    """Return the bytes of templates and options in a datagram with them."""
    return 0 if kind == "netflow5" else len(_template_sets(kind, 1))


def flow_records(kind: Kind, values: Words) -> Rows:
    """Rows of flow records; fields without values are zero."""
    layout = np.dtype([(str(place), f">u{size}") for place, (_, size) in enumerate(FIELDS[kind])])
    rows = np.zeros(len(values[SRC]), layout)
    for place, (element, size) in enumerate(FIELDS[kind]):
        if element in values:
            rows[str(place)] = values[element] & ((1 << 8 * min(size, 7)) - 1)
    return rows.view(np.uint8).reshape(len(rows), layout.itemsize)


def heads(kind: Kind, h: Heads) -> tuple[Rows, Int]:
    """Rows of all that stands before the flow records of a datagram, and how many bytes of each count."""
    rows = np.zeros(len(h.time_ns), HEADS[kind])
    rows["version"] = VERSIONS[kind]
    rows["seconds"], rows["sequence"] = h.time_ns // 10**9, h.sequence & MASK32
    extra = np.where(h.with_templates, template_bytes(kind), 0)
    content = h.records * record_bytes(kind)
    section = content + (-content & 3) + SET_HEADER_BYTES
    if kind == "ipfix":
        rows["length"], rows["domain"] = HEAD_BYTES[kind] + extra + section, DOMAIN
    else:
        rows["uptime_ms"] = h.uptime_ms & MASK32
        more = np.where(h.with_templates, TEMPLATE_RECORDS + OPTIONS_RECORDS, 0)
        rows["count"] = h.records + more * (kind == "netflow9")
    if kind == "netflow5":
        rows["nanoseconds"], rows["sampling"] = h.time_ns % 10**9, _RANDOM_V5 << 14 | h.rate
    head = rows.view(np.uint8).reshape(len(rows), HEAD_BYTES[kind])
    if kind == "netflow5":
        return head, np.full(len(head), HEAD_BYTES[kind])
    return _with_sets(kind, head, h, section), HEAD_BYTES[kind] + extra + SET_HEADER_BYTES


def _with_sets(kind: Kind, head: Rows, h: Heads, section_bytes: Int) -> Rows:
    """Write headers, templates and options where sent, and the header of the set of flow records."""
    before = np.zeros((len(head), 2), ">u2")
    before[:, 0], before[:, 1] = FLOW_SET, section_bytes
    set_head = before.view(np.uint8).reshape(len(head), SET_HEADER_BYTES)
    width = template_bytes(kind)
    rows = np.zeros((len(head), head.shape[1] + width + SET_HEADER_BYTES), np.uint8)
    rows[:, : head.shape[1]] = head
    silent = ~h.with_templates
    rows[silent, head.shape[1] : head.shape[1] + SET_HEADER_BYTES] = set_head[silent]
    rows[h.with_templates, head.shape[1] + width :] = set_head[h.with_templates]
    for rate in np.unique(h.rate[h.with_templates]).tolist():
        sets = np.frombuffer(_template_sets(kind, rate), np.uint8)
        rows[np.flatnonzero(h.with_templates & (h.rate == rate)), head.shape[1] : head.shape[1] + width] = sets
    return rows


def _template_sets(kind: Kind, rate: int) -> bytes:
    """Sets with the template of flow records, that of options, and the sampling rate as options data."""
    template = struct.pack("!HH", FLOW_SET, len(FIELDS[kind])) + _specifiers(FIELDS[kind])
    if kind == "netflow9":
        fields: Fields = ((SAMPLER, 1), (SAMPLER_MODE, 1), (SAMPLER_INTERVAL, 4))
        options = struct.pack("!HHH", OPTIONS_SET, 4, 4 * len(fields)) + _specifiers(((_SCOPE_SYSTEM, 4), *fields))
        data = struct.pack("!IBBI", 0, ONLY_SAMPLER, _RANDOM_V9, rate)
        return b"".join([
            _set(V9_TEMPLATES, template), _set(V9_OPTIONS_TEMPLATES, options), _set(OPTIONS_SET, data)
        ])  # fmt: skip
    fields = ((SELECTOR, 4), (ALGORITHM, 2), (PACKET_INTERVAL, 4), (PACKET_SPACE, 4))
    options = struct.pack("!HHH", OPTIONS_SET, len(fields), 1) + _specifiers(fields)
    data = struct.pack("!IHII", ONLY_SAMPLER, _RANDOM_IPFIX, 1, rate - 1)
    return b"".join([
        _set(IPFIX_TEMPLATES, template), _set(IPFIX_OPTIONS_TEMPLATES, options), _set(OPTIONS_SET, data)
    ])  # fmt: skip


def _specifiers(fields: Fields) -> bytes:
    return b"".join(struct.pack("!HH", *field) for field in fields)


def _set(number: int, content: bytes) -> bytes:
    """A set, filled up to a multiple of four bytes."""
    padded = content + bytes(-len(content) % 4)
    return struct.pack("!HH", number, SET_HEADER_BYTES + len(padded)) + padded
