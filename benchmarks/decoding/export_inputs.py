"""Seeded export datagrams in bulk for the benchmarks: sFlow, NetFlow v5 and v9, IPFIX, as arrays of bytes.

Traffic is that of a training fabric: RoCEv2 between 4,096 endpoints, seen by 64 switches.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capture.exporters.datagram import DATAGRAM, IPFIX, NETFLOW5, NETFLOW9, SFLOW5, Datagrams

Ints = npt.NDArray[np.int64]
Matrix = npt.NDArray[np.uint8]

AGENTS = 64
ENDPOINTS = 4096
UNIX_S = 1_700_000_000
TEMPLATE_EVERY = 1000  # datagrams
_OPCODES = np.array([0x06, 0x07, 0x07, 0x07, 0x07, 0x08, 0x0A, 0x11, 0x04])
_PAYLOAD_BYTES, _HEADER_BYTES, _SAMPLE_BYTES = 1024, 128, 216

# Element and length, in order; 21 and 22 are uptimes (v9), 152 and 153 milliseconds since 1970 (IPFIX).
_COMMON = ((8, 4), (12, 4), (7, 2), (11, 2), (4, 1), (5, 1))
FIELDS = {
    NETFLOW9: (*_COMMON, (6, 1), (10, 4), (14, 4), (1, 8), (2, 8), (22, 4), (21, 4), (61, 1), (60, 1)),
    IPFIX: (*_COMMON, (6, 2), (10, 4), (14, 4), (1, 8), (2, 8), (152, 8), (153, 8), (61, 1), (60, 1)),
}
RECORDS_A_DATAGRAM = {SFLOW5: 6, NETFLOW5: 30, NETFLOW9: 27, IPFIX: 23}


def datagrams(protocol: int, records: int) -> Datagrams:
    """At least so many records in datagrams of the size that exporters send, templates among them."""
    count = -(-records // RECORDS_A_DATAGRAM[protocol])
    number = np.arange(count)
    body = {SFLOW5: _sflow, NETFLOW5: _netflow5, NETFLOW9: _templated, IPFIX: _templated}[protocol](number, protocol)
    if protocol not in FIELDS:
        return _indexed(protocol, [body], number * 2)
    announced = number[::TEMPLATE_EVERY]
    templates = _templates(announced, protocol)
    return _indexed(protocol, [body, templates], np.concatenate([number * 2, announced * 2 - 1]))


def _indexed(protocol: int, parts: list[Matrix], order: Ints) -> Datagrams:
    """Datagrams of equal sizes within each part, in ascending `order` over all parts."""
    sizes = np.concatenate([np.full(len(part), part.shape[1]) for part in parts])
    offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    index = np.zeros(len(sizes), DATAGRAM)
    index["offset"], index["bytes"], index["protocol"] = offsets, sizes, protocol
    index["source_low"] = 0xFFFF0AFF0001
    index = index[np.argsort(order, kind="stable")]
    index["time_ns"] = UNIX_S * 10**9 + np.arange(len(index)) * 10_000
    return Datagrams(np.concatenate([part.ravel() for part in parts]), index)


def _sflow(number: Ints, _protocol: int) -> Matrix:
    """Datagrams of six flow samples with 128 bytes of a RoCEv2 packet each."""
    per = RECORDS_A_DATAGRAM[SFLOW5]
    rows = np.zeros((len(number), 28 + per * _SAMPLE_BYTES), np.uint8)
    for at, value in (
        (0, 5), (4, 1), (8, 0x0AFF0001 + number % AGENTS), (16, number // AGENTS), (20, number // 100), (24, per),
    ):  # fmt: skip
        put(rows, at, value, ">u4")
    sample = np.arange(len(number) * per)
    rows[:, 28:] = _samples(sample).reshape(len(number), -1)
    return rows


def _samples(number: Ints) -> Matrix:
    rows = np.zeros((len(number), _SAMPLE_BYTES), np.uint8)
    port = number % 64 + 1
    words: tuple[Ints | int, ...] = (
        1, _SAMPLE_BYTES - 8, number, port, 4096, number * 4096, 0, port, number * 7 % 64 + 1, 2,
        1, 16 + _HEADER_BYTES, 1, _PAYLOAD_BYTES + 58 + 4, 4, _HEADER_BYTES,
    )  # fmt: skip
    for place, value in enumerate(words):
        put(rows, 4 * place, value, ">u4")
    rows[:, 64 : 64 + _HEADER_BYTES] = _headers(number)
    for place, value in enumerate((1001, 16, 100, 0, 100, 0)):
        put(rows, 64 + _HEADER_BYTES + 4 * place, value, ">u4")
    return rows


def _headers(number: Ints) -> Matrix:
    """The first 128 bytes of RoCEv2 packets between random endpoints."""
    random = np.random.default_rng(1)
    rows = np.full((len(number), _HEADER_BYTES), 0xA5, np.uint8)
    opcode = _OPCODES[random.integers(0, len(_OPCODES), len(number))]
    source, target = endpoints(random, len(number)), endpoints(random, len(number))
    size = 20 + 8 + 12 + _PAYLOAD_BYTES + 4
    for at, value, form in (
        (0, 0x02000000, ">u4"), (12, 0x0800, ">u2"), (14, 0x456A, ">u2"), (16, size, ">u2"),
        (18, number & 0xFFFF, ">u2"),
        (20, 0x4000, ">u2"), (22, 0x3F11, ">u2"), (24, 0, ">u2"), (26, source, ">u4"), (30, target, ">u4"),
        (34, 49152 + (source & 0xFFF), ">u2"), (36, 4791, ">u2"), (38, size - 20, ">u2"), (40, 0, ">u2"),
        (42, opcode << 24 | 0x40FFFF, ">u4"), (46, random.integers(0, 1 << 18, len(number)), ">u4"),
        (50, random.integers(0, 1 << 24, len(number)), ">u4"), (62, 0, ">u4"), (66, 1 << 20, ">u4"),
    ):  # fmt: skip
        put(rows, at, value, form)
    return rows


def _netflow5(number: Ints, _protocol: int) -> Matrix:
    per = RECORDS_A_DATAGRAM[NETFLOW5]
    rows = np.zeros((len(number), 24 + 48 * per), np.uint8)
    put(rows, 0, 5 << 16 | per, ">u4")
    for at, value in ((4, 300_000), (8, UNIX_S + number // 10_000), (16, number * per)):
        put(rows, at, value, ">u4")
    rows[:, 24:] = _records5(len(number) * per).reshape(len(number), -1)
    return rows


def _records5(count: int) -> Matrix:
    random = np.random.default_rng(1)
    rows = np.zeros((count, 48), np.uint8)
    first = random.integers(1000, 66_000, count)
    for at, value, form in (
        (0, endpoints(random, count), ">u4"), (4, endpoints(random, count), ">u4"), (12, 3, ">u2"), (14, 4, ">u2"),
        (16, random.integers(1, 1 << 20, count), ">u4"), (20, random.integers(1, 1 << 30, count), ">u4"),
        (24, first, ">u4"), (28, first + 200_000, ">u4"), (32, 49152, ">u2"), (34, 4791, ">u2"), (38, 17, "u1"),
        (39, 0x6A, "u1"),
    ):  # fmt: skip
        put(rows, at, value, form)
    return rows


def _templated(number: Ints, protocol: int) -> Matrix:
    """Datagrams of one data set of template 256."""
    per = RECORDS_A_DATAGRAM[protocol]
    record_bytes = sum(size for _, size in FIELDS[protocol])
    set_bytes = 4 + per * record_bytes + -(per * record_bytes) % 4
    header = _header(number, protocol, set_bytes, per)
    rows = np.zeros((len(number), header.shape[1] + set_bytes), np.uint8)
    rows[:, : header.shape[1]] = header
    at = header.shape[1]
    put(rows, at, 256 << 16 | set_bytes, ">u4")
    records = _records(len(number) * per, protocol).reshape(len(number), -1)
    rows[:, at + 4 : at + 4 + records.shape[1]] = records
    return rows


def _templates(number: Ints, protocol: int) -> Matrix:
    """Datagrams that announce the template, each before the data datagram of its number."""
    fields = FIELDS[protocol]
    words = [256, len(fields), *(word for field in fields for word in field)]
    header = _header(number, protocol, 4 + 2 * len(words), 1)
    rows = np.zeros((len(number), header.shape[1] + 4 + 2 * len(words)), np.uint8)
    rows[:, : header.shape[1]] = header
    at = header.shape[1]
    put(rows, at, (0 if protocol == NETFLOW9 else 2) << 16 | 4 + 2 * len(words), ">u4")
    for place, word in enumerate(words):
        put(rows, at + 4 + 2 * place, word, ">u2")
    if protocol == NETFLOW9:
        put(rows, 12, number + np.arange(len(number)), ">u4")
    return rows


def _header(number: Ints, protocol: int, set_bytes: int, count: int) -> Matrix:
    second = UNIX_S + number // 10_000
    if protocol == NETFLOW9:
        templates_before = number // TEMPLATE_EVERY + 1
        values: tuple[Ints | int, ...] = (9 << 16 | count, 300_000, second, number + templates_before, 1)
    else:
        values = (10 << 16 | 16 + set_bytes, second, number * RECORDS_A_DATAGRAM[IPFIX], 1)
    rows = np.zeros((len(number), 4 * len(values)), np.uint8)
    for place, value in enumerate(values):
        put(rows, 4 * place, value, ">u4")
    return rows


def _records(count: int, protocol: int) -> Matrix:
    random = np.random.default_rng(1)
    first_ms = random.integers(0, 1 << 16, count)
    start, end = (
        (1000 + first_ms, 200_000 + first_ms)
        if protocol == NETFLOW9
        else (UNIX_S * 1000 - 2000 + first_ms % 1000, UNIX_S * 1000 - 1000 + first_ms % 1000)
    )
    ports = random.integers(1, 65, (2, count))
    values = (
        endpoints(random, count), endpoints(random, count), 49152 + first_ms % 4096, 4791, 17, 0x6A, 0, *ports,
        random.integers(1, 1 << 30, count), random.integers(1, 1 << 20, count), start, end, 0, 4,
    )  # fmt: skip
    rows = np.zeros((count, sum(size for _, size in FIELDS[protocol])), np.uint8)
    at = 0
    for (_, size), value in zip(FIELDS[protocol], values, strict=True):
        put(rows, at, value, f">u{size}")
        at += size
    return rows


def endpoints(random: np.random.Generator, count: int) -> Ints:
    """Random endpoint addresses, 10.0.0.1 to 10.15.255.1."""
    return 0x0A000001 + (random.integers(0, ENDPOINTS, count) << 8)


def put(rows: Matrix, at: int, value: Ints | int, form: str) -> None:
    """Write an integer field, in the byte order and width of `form`, into every row."""
    field = np.broadcast_to(np.asarray(value), len(rows)).astype(form)
    rows[:, at : at + field.itemsize] = field.view(np.uint8).reshape(len(rows), -1)
