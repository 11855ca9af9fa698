"""NetFlow and IPFIX datagrams in their standards' own words, nothing interpreted: for `decode --wire`."""

from __future__ import annotations

import math
import struct
from collections import OrderedDict
from collections.abc import Callable, Iterator
from ipaddress import IPv4Address, IPv6Address

from capture.exporters.datagram import IPFIX, NETFLOW5, NETFLOW9, PROTOCOLS
from capture.netflow.exported_elements import ExportedElements
from capture.netflow.templates.definition import Definition, DefinitionError, Specifier, read_definition
from capture.netflow.templates.element_names import ENTERPRISE_BIT, V5_NAMES, V9_SCOPES, Element, element, v9_field
from capture.netflow.templates.v5_template import PADDING, V5_FIELDS
from capture.netflow.wire.netflow_layout import (
    FIRST_DATA_SET,
    SET_HEADER_BYTES,
    V5_HEADER_BYTES,
    V5_RECORD_BYTES,
    VARIABLE,
)

Fields = dict[str, object]

# Header fields behind the version, in the order of the wire: struct format and names.
_HEADERS = {
    NETFLOW5: (
        "!xxHIIIIBBH",
        ["count", "sysUptime", "unix_secs", "unix_nsecs", "sequence", "engine_type", "engine_id", "sampling_interval"],
    ),
    NETFLOW9: ("!xxHIIII", ["count", "sysUptime", "unix_secs", "sequence", "domain"]),
    IPFIX: ("!xxHIII", ["length", "exportTime", "sequence", "domain"]),
}
_OWN_WORDS = {"protocol", "exporter", "record", "template", "set", "fields", "data", "error"}
_OWN_WORDS.update(name for _, names in _HEADERS.values() for name in names)
_VERSIONS = {5: NETFLOW5, 9: NETFLOW9, 10: IPFIX}
_MOST_TEMPLATES = 1 << 16
LIST_HEADER_BYTES = 5
LIST_SEMANTICS = {0: "noneOf", 1: "exactlyOneOf", 2: "oneOrMoreOf", 3: "allOf", 4: "ordered", 255: "undefined"}

Session = tuple[str, int, int, int]  # source address, source port, protocol, domain


class WireTemplates:
    """The templates announced so far, by session and id, and by exporter whatever the port; the oldest go first.

    Attributes:
        described: elements that exporters described themselves.
    """

    def __init__(self) -> None:
        self.described = ExportedElements(_OWN_WORDS)
        self._known: OrderedDict[tuple[Session, int], Definition] = OrderedDict()

    def put(self, session: Session, definition: Definition) -> None:
        """Enter a template. Files hold datagrams, so one that withdraws is ignored (RFC 7011 section 8.4)."""
        for key in (session, _any_port(session)) if definition.fields else ():
            self._known.pop((key, definition.id), None)
            self._known[key, definition.id] = definition
        while len(self._known) > _MOST_TEMPLATES:
            self._known.popitem(last=False)

    def get(self, session: Session, template: int) -> Definition | None:
        """The template that this session or else the same exporter from another port announced."""
        return self._known.get((session, template)) or self._known.get((_any_port(session), template))


def _any_port(session: Session) -> Session:
    return (session[0], -1, session[2], session[3])


def describe(
    payload: bytes, templates: WireTemplates, source: str = "", source_port: int = 0
) -> Iterator[dict[str, object]]:
    """One dict a record: the datagram's header, and each field by its standard name; templates are records too.

    Values are as the wire's types say: addresses as text, numbers as numbers, times as the integers they are sent as,
    byte strings as hex; what does not fit its type is {"hex": ...}, so that no text is mistaken for it. A field that
    occurs several times has a list. Where the reading had to stop, an "error" says why, and "data" has as hex what was
    not read. No bytes raise.

    Args:
        payload: one datagram or message.
        templates: those announced before; those in `payload` are added.
        source: the address it came from.
        source_port: likewise.
    """
    version = int.from_bytes(payload[:2], "big") if len(payload) >= 2 else -1
    protocol = _VERSIONS.get(version)
    if protocol is None:
        cause = f"version {version}" if version >= 0 else "ends inside its header"
        yield {"exporter": source, "data": payload.hex(), "error": cause}
        return
    head: Fields = {"protocol": PROTOCOLS[protocol], "exporter": source}
    form, names = _HEADERS[protocol]
    size = struct.calcsize(form)
    if len(payload) < size:
        yield head | {"data": payload.hex(), "error": "ends inside its header"}
        return
    head |= dict(zip(names, struct.unpack_from(form, payload), strict=True))
    if protocol == NETFLOW5:
        yield from _v5(payload, head)
        return
    end = min(max(int(str(head["length"])), size), len(payload)) if protocol == IPFIX else len(payload)
    session = (source, source_port, protocol, int(str(head["domain"])))
    yield from (head | record for record in _sets(payload, size, end, session, templates))
    if protocol == IPFIX and int(str(head["length"])) != len(payload):
        behind = {"data": payload[end:].hex()} if end < len(payload) else {}
        yield head | behind | {"error": f"says it has {head['length']} bytes, has {len(payload)}"}


def _v5(payload: bytes, head: Fields) -> Iterator[Fields]:
    count = int(str(head["count"]))
    for place in range(count):
        at = V5_HEADER_BYTES + place * V5_RECORD_BYTES
        if at + V5_RECORD_BYTES > len(payload):
            rest = {"data": payload[at:].hex()} if at < len(payload) else {}
            yield head | rest | {"error": f"ends after {place} of {count} records"}
            return
        record: Fields = {"record": "data"}
        for number, size in V5_FIELDS:
            if number != PADDING:
                kind = "ipv4Address" if number in (8, 12, 15) else "unsigned32"
                record[V5_NAMES[number]] = _value(payload[at : at + size], kind)
            at += size
        yield head | record
    behind = payload[V5_HEADER_BYTES + count * V5_RECORD_BYTES :]
    if behind:
        yield head | {"data": behind.hex(), "error": f"{len(behind)} bytes behind the last record"}


def _sets(payload: bytes, at: int, end: int, session: Session, templates: WireTemplates) -> Iterator[Fields]:
    protocol = session[2]
    while at + SET_HEADER_BYTES <= end:
        number, length = struct.unpack_from("!HH", payload, at)
        if length < SET_HEADER_BYTES:
            if any(payload[at:end]):
                yield {"set": number, "data": payload[at:end].hex(), "error": f"impossible length of a set: {length}"}
            return
        content = payload[at + SET_HEADER_BYTES : min(at + length, end)]
        if number >= FIRST_DATA_SET:
            yield from _data(content, number, session, templates)
        elif number in ((0, 1) if protocol == NETFLOW9 else (2, 3)):
            yield from _templates(content, number, session, templates)
        else:
            yield {"set": number, "data": content.hex(), "error": "reserved set"}
        if at + length > end:
            yield {"set": number, "error": f"{at + length - end} bytes of the set are missing"}
        at += length
    if any(payload[at:end]):
        yield {"data": payload[at:end].hex(), "error": "bytes behind the last set"}


def _templates(content: bytes, number: int, session: Session, templates: WireTemplates) -> Iterator[Fields]:
    at, options = 0, number in (1, 3)
    while at + 4 <= len(content) and any(content[at:]):
        try:
            definition = read_definition(content[at:], session[2], options=options)
        except DefinitionError as error:
            yield {"set": number, "data": content[at:].hex(), "error": f"template record {error}"}
            return
        at += len(definition.content)
        templates.put(session, definition)
        kind = "options template" if options else "template"
        fields = [
            {
                "name": _named(field, session, templates)[0],
                "length": "variable" if field.length == VARIABLE else field.length,
            }
            for field in definition.fields
        ]
        yield {"record": kind if fields else f"{kind} withdrawal", "template": definition.id, "fields": fields}
    yield from _behind(content[at:], {"set": number})


def _data(content: bytes, number: int, session: Session, templates: WireTemplates) -> Iterator[Fields]:
    definition = templates.get(session, number)
    if definition is None:
        yield {"record": "data", "template": number, "data": content.hex(), "error": "its template is not known"}
        return
    head: Fields = {"record": "options data" if definition.options else "data", "template": number}
    if definition.least_bytes == 0:
        yield head | {"data": content.hex(), "error": "its template says that its records are empty"}
        return
    if len(content) < definition.least_bytes and any(content):
        yield head | {"data": content.hex(), "error": "shorter than one record of its template"}
        return
    at = 0
    while at + definition.least_bytes <= len(content):
        record, at = _record(content, at, definition, session, templates)
        if definition.options:
            templates.described.learn(session[0], record)
        yield head | record
    yield from _behind(content[at:], head)


def _behind(rest: bytes, head: Fields) -> Iterator[Fields]:
    """What stands behind a set's last record, unless it is padding."""
    if any(rest):
        yield head | {"data": rest.hex(), "error": "bytes behind the last record of the set"}


def _record(
    content: bytes, at: int, definition: Definition, session: Session, templates: WireTemplates
) -> tuple[Fields, int]:
    """One record's fields, and where the next begins."""
    found: Fields = {}
    seen: dict[str, list[object]] = {}
    for field in definition.fields:
        length = field.length
        if length == VARIABLE:
            length, at = _told_length(content, at)
        if at + length > len(content):
            rest = {"data": content[at:].hex()} if at < len(content) else {}
            return found | rest | {"error": "the record is longer than its set"}, len(content)
        name, kind = _named(field, session, templates)
        values = seen.setdefault(name, [])
        values.append(_value(content[at : at + length], kind))
        found[name] = values[0] if len(values) == 1 else values
        at += length
    return found, at


def _told_length(content: bytes, at: int) -> tuple[int, int]:
    """The length that a field of variable length begins with, and where its value does."""
    if at >= len(content):
        return 1, at
    if content[at] < 255:
        return content[at], at + 1
    return (int.from_bytes(content[at + 1 : at + 3], "big"), at + 3) if at + 3 <= len(content) else (3, at + 1)


def _named(field: Specifier, session: Session, templates: WireTemplates) -> Element:
    """Name and type of a field: the standard's, else those its exporter described, else those of `_standard`."""
    known = _standard(field, session[2])
    described = templates.described.get(session[0], field.enterprise, field.element)
    return described if described.name and known.name == _numbers(field) else known


def _standard(field: Specifier, protocol: int) -> Element:
    """Name and type of a field; enterprise/element and no type where it has no name."""
    if protocol == NETFLOW9 and field.scope:
        known = Element(V9_SCOPES.get(field.element, ""), "unsigned64")
    else:
        known = v9_field(field.element) if protocol == NETFLOW9 else element(field.enterprise, field.element)
    return known if known.name else Element(_numbers(field), "octetArray")


def _numbers(field: Specifier) -> str:
    """What a field is called that has no name."""
    return f"{field.enterprise}/{field.element}"


def _value(content: bytes, kind: str) -> object:
    """A field's value as its type says; byte strings as hex, and what does not fit its type as {"hex": ...}."""
    reader = _list if kind == "basicList" else _READERS.get(kind)
    if reader is None:
        return content.hex()
    value = reader(content)
    return {"hex": content.hex()} if value is None else value


def _list(content: bytes) -> object:
    """A basicList (RFC 6313 section 4.5.1): its semantic, the element of its values, and the values."""
    if len(content) < LIST_HEADER_BYTES:
        return None
    semantic, word, length = struct.unpack_from("!BHH", content)
    has_enterprise = bool(word & ENTERPRISE_BIT)
    at = LIST_HEADER_BYTES + 4 * has_enterprise
    if at > len(content) or length == 0:
        return None
    enterprise = int.from_bytes(content[LIST_HEADER_BYTES:at], "big")
    name, kind = _standard(Specifier(enterprise, word & ~ENTERPRISE_BIT, length), IPFIX)
    values: list[object] = []
    while at < len(content):
        size, at = _told_length(content, at) if length == VARIABLE else (length, at)
        if at + size > len(content):
            return None
        # A list of lists is shown as bytes, so that nothing nests beyond bounds.
        values.append(_value(content[at : at + size], "octetArray" if kind == "basicList" else kind))
        at += size
    return {"semantic": LIST_SEMANTICS.get(semantic, semantic), "element": name, "values": values}


def _unsigned(content: bytes) -> object:
    return int.from_bytes(content, "big") if 1 <= len(content) <= 8 else None


def _unsigned256(content: bytes) -> object:
    return int.from_bytes(content, "big") if 1 <= len(content) <= 32 else None


def _signed(content: bytes) -> object:
    return int.from_bytes(content, "big", signed=True) if 1 <= len(content) <= 8 else None


def _float(content: bytes) -> object:
    if len(content) not in (4, 8):
        return None
    value = float(struct.unpack("!f" if len(content) == 4 else "!d", content)[0])
    return value if math.isfinite(value) else str(value)  # JSON has no word for the others


def _boolean(content: bytes) -> object:
    return {b"\x01": True, b"\x02": False}.get(content)  # RFC 7011 section 6.1.5


def _string(content: bytes) -> object:
    try:
        return content.rstrip(b"\0").decode()  # NetFlow v9 fills strings up to their field's length
    except UnicodeDecodeError:
        return None


def _ipv4(content: bytes) -> object:
    return str(IPv4Address(content)) if len(content) == 4 else None


def _ipv6(content: bytes) -> object:
    return str(IPv6Address(content)) if len(content) == 16 else None


def _mac(content: bytes) -> object:
    return content.hex(":") if len(content) == 6 else None


_READERS: dict[str, Callable[[bytes], object]] = {
    **{f"unsigned{bits}": _unsigned for bits in (8, 16, 32, 64)},
    "unsigned256": _unsigned256,
    **{f"signed{bits}": _signed for bits in (8, 16, 32, 64)},
    **{f"dateTime{unit}": _unsigned for unit in ("Seconds", "Milliseconds", "Microseconds", "Nanoseconds")},
    "float32": _float,
    "float64": _float,
    "boolean": _boolean,
    "string": _string,
    "ipv4Address": _ipv4,
    "ipv6Address": _ipv6,
    "macAddress": _mac,
}
