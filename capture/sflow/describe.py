"""sFlow datagrams in the specification's own words, nothing interpreted: for `decode --wire`, and for people."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from ipaddress import IPv4Address, IPv6Address

from capture.sflow.counter_structures import COUNTER_STRUCTURES
from capture.sflow.flow_structures import FLOW_STRUCTURES
from capture.sflow.sflow_layout import (
    ADDRESS_IPV4,
    ADDRESS_IPV6,
    COUNTER_SAMPLE,
    COUNTER_SAMPLE_EXPANDED,
    DISCARDED_PACKET,
    FLOW_SAMPLE,
    FLOW_SAMPLE_EXPANDED,
)
from capture.sflow.structures import Member, Number, Structure, Type, each

Fields = dict[str, object]

_SAMPLES: dict[int, tuple[str, tuple[Member, ...], str]] = {
    FLOW_SAMPLE: (
        "flow_sample",
        each("u32", "sequence_number source_id sampling_rate sample_pool drops input output"),
        "flow_records",
    ),
    COUNTER_SAMPLE: ("counters_sample", each("u32", "sequence_number source_id"), "counters"),
    FLOW_SAMPLE_EXPANDED: (
        "flow_sample_expanded",
        each(
            "u32",
            "sequence_number source_id_type source_id_index sampling_rate sample_pool drops"
            " input_format input_value output_format output_value",
        ),
        "flow_records",
    ),
    COUNTER_SAMPLE_EXPANDED: (
        "counters_sample_expanded",
        each("u32", "sequence_number source_id_type source_id_index"),
        "counters",
    ),
    DISCARDED_PACKET: (
        "discarded_packet",
        each("u32", "sequence_number source_id_type source_id_index drops inputifindex outputifindex reason"),
        "discard_records",
    ),
}

_AGGREGATION = (0, 1016)
_FLAT = {number: structure for number, structure in FLOW_STRUCTURES.items() if number != _AGGREGATION}


class _Stop(Exception):  # noqa: N818 - it ends the reading of one structure and is shown as data
    """What was to be read does not fit."""


class _Reader:
    """Takes values from the front of bytes, each no further than to `end`."""

    def __init__(self, data: bytes, at: int, end: int) -> None:
        self.data, self.at, self.end = data, at, end

    def take(self, size: int) -> bytes:
        """The next `size` bytes."""
        if self.at + size > self.end:
            raise _Stop(f"needs {size} bytes at byte {self.at}, there are {max(self.end - self.at, 0)}")
        self.at += size
        return self.data[self.at - size : self.at]

    def u32(self) -> int:
        """An unsigned integer."""
        return int.from_bytes(self.take(4), "big")

    def counted(self) -> bytes:
        """Bytes after their count, padded to a multiple of four."""
        size = self.u32()
        taken = self.take(size)
        self.at = min(self.at + (-size & 3), self.end)
        return taken

    def inside(self, size: int) -> _Reader:
        """A reader of the next `size` bytes, or of fewer where there are no more; padding is stepped over."""
        part = _Reader(self.data, self.at, min(self.at + size, self.end))
        self.at = min(self.at + size + (-size & 3), self.end)
        return part


def describe(payload: bytes) -> Iterator[Fields]:
    """One dict a sample: the datagram's header, the sample's fields, and its structures as dicts in a list.

    Bytes that the reading cannot make sense of are hex under "data", what does not fit its type is {"hex": ...}. Where
    the reading had to stop, an "error" says so, in the structure or as a last dict. No bytes raise.
    """
    reader = _Reader(payload, 0, len(payload))
    head: Fields = {"protocol": "sFlow v5"}
    try:
        version = reader.u32()
        if version != 5:
            yield head | {"data": payload.hex(), "error": f"version {version}"}
            return
        head["agent_address"] = _address(reader)
        for name in ("sub_agent_id", "sequence_number", "uptime"):
            head[name] = reader.u32()
        announced = reader.u32()
        for decoded in range(announced):
            if reader.at >= reader.end:
                yield head | {"error": f"ends after {decoded} of {announced} samples"}
                return
            yield head | _sample(reader)
    except _Stop as stop:
        yield head | {"data": payload[reader.at :].hex(), "error": str(stop)}
        return
    if reader.at < reader.end:
        behind = payload[reader.at :]
        yield head | {"data": behind.hex(), "error": f"{len(behind)} bytes behind the last sample"}


def _sample(reader: _Reader) -> Fields:
    word, size = reader.u32(), reader.u32()
    known = _SAMPLES.get(word)
    lacking = reader.at + size - reader.end
    part = reader.inside(size)
    if known is None:
        return {"sample": _number(word), "data": part.take(part.end - part.at).hex()}
    name, members, records = known
    fields: Fields = {"sample": name}
    try:
        fields |= {f"sample_{n}" if n == "sequence_number" else n: _value(part, kind) for n, kind in members}
        structures = COUNTER_STRUCTURES if records == "counters" else FLOW_STRUCTURES
        found: list[Fields] = []
        fields[records] = found
        _structures(part, structures, found)
    except _Stop as stop:
        fields["error"] = str(stop)
    fields |= _behind(part)
    if lacking > 0:
        fields["error"] = f"{lacking} bytes of it are missing"
    return fields


def _structures(reader: _Reader, known: dict[Number, Structure], found: list[Fields]) -> None:
    announced = reader.u32()
    for decoded in range(announced):
        if reader.at >= reader.end:
            raise _Stop(f"ends after {decoded} of {announced} structures")
        word, size = reader.u32(), reader.u32()
        lacking = reader.at + size - reader.end
        fields = _structure(reader.inside(size), word, known)
        if lacking > 0:
            fields["error"] = f"{lacking} bytes of it are missing"
        found.append(fields)


def _structure(part: _Reader, word: int, known: dict[Number, Structure]) -> Fields:
    structure = known.get((word >> 12, word & 0xFFF))
    if structure is None:
        return {"structure": _number(word), "data": part.take(part.end - part.at).hex()}
    name, members = structure
    fields: Fields = {"structure": name}
    try:
        for i, (member, kind) in enumerate(members):
            if i and part.at == part.end:
                break  # agents of older versions leave later members out
            fields[member] = _value(part, kind)
    except _Stop as stop:
        fields["error"] = str(stop)
        fields["data"] = part.take(part.end - part.at).hex()
    return fields | _behind(part)


def _behind(part: _Reader) -> Fields:
    """What is left of a sample or structure behind all that is known of it, unless it is padding."""
    rest = part.take(part.end - part.at)
    return {"data": rest.hex()} if any(rest) else {}


def _nested(reader: _Reader) -> list[Fields]:
    """Structures inside one, which hold no further ones: so nothing nests beyond bounds."""
    found: list[Fields] = []
    _structures(reader, _FLAT, found)
    return found


def _number(word: int) -> str:
    return f"{word >> 12}/{word & 0xFFF}"


def _value(reader: _Reader, kind: Type) -> object:
    if kind == "records":
        return _nested(reader)
    if isinstance(kind, str):
        return _READ[kind](reader)
    if len(kind) == 1:  # a list of single values needs no names
        return [_value(reader, kind[0][1]) for _ in _repetitions(reader)]
    return [{name: _value(reader, inner) for name, inner in kind} for _ in _repetitions(reader)]


def _repetitions(reader: _Reader) -> range:
    """As many as the count says; it cannot be more than there are words left."""
    count = reader.u32()
    if count > (reader.end - reader.at) // 4:
        raise _Stop(f"{count} repetitions in {reader.end - reader.at} bytes")
    return range(count)


def _address(reader: _Reader) -> str:
    kind = reader.u32()
    if kind == ADDRESS_IPV4:
        return _ip4(reader)
    if kind == ADDRESS_IPV6:
        return _ip6(reader)
    if kind == 0:
        return "unknown"
    raise _Stop(f"address type {kind}")


def _ip4(reader: _Reader) -> str:
    return str(IPv4Address(reader.take(4)))


def _ip6(reader: _Reader) -> str:
    return str(IPv6Address(reader.take(16)))


def _mac(reader: _Reader) -> str:
    return reader.take(8)[:6].hex(":")


def _f32(reader: _Reader) -> object:
    packed = reader.take(4)
    value = float(struct.unpack("!f", packed)[0])
    return value if abs(value) < float("inf") else {"hex": packed.hex()}  # JSON has neither infinities nor NaN


def _text(reader: _Reader) -> object:
    packed = reader.counted()
    try:
        return packed.decode()
    except UnicodeDecodeError:
        return {"hex": packed.hex()}


_READ: dict[str, Callable[[_Reader], object]] = {
    "u32": _Reader.u32,
    "u64": lambda reader: int.from_bytes(reader.take(8), "big"),
    "i32": lambda reader: int.from_bytes(reader.take(4), "big", signed=True),
    "f32": _f32,
    "mac": _mac,
    "ip4": _ip4,
    "ip6": _ip6,
    "ip": _address,
    "text": _text,
    "hex": lambda reader: reader.counted().hex(),
    "hex16": lambda reader: reader.take(16).hex(),
    "u32s": lambda reader: [reader.u32() for _ in _repetitions(reader)],
}
