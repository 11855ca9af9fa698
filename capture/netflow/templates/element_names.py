"""Names and types of fields: IANA's information elements, known enterprises' elements, NetFlow v9 field types."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from typing import NamedTuple

CISCO = 9
ENTERPRISE_BIT = 0x8000
REVERSE_ENTERPRISE = 29305  # elements of the way back (RFC 5103 section 6.1)
_OCTETS = "octetArray"

# Abstract data types by the numbers that informationElementDataType has (RFC 5610 section 3.1).
DATA_TYPES = (
    "octetArray", "unsigned8", "unsigned16", "unsigned32", "unsigned64", "signed8", "signed16", "signed32", "signed64",
    "float32", "float64", "boolean", "macAddress", "string", "dateTimeSeconds", "dateTimeMilliseconds",
    "dateTimeMicroseconds", "dateTimeNanoseconds", "ipv4Address", "ipv6Address", "basicList", "subTemplateList",
    "subTemplateMultiList", "unsigned256",
)  # fmt: skip


class Element(NamedTuple):
    """A field's standard name ("" where it has none) and its abstract data type (RFC 7011 section 6.1)."""

    name: str
    type: str


UNKNOWN = Element("", _OCTETS)

# Scope field types of NetFlow v9 (RFC 3954 section 6.1).
V9_SCOPES = {1: "System", 2: "Interface", 3: "LineCard", 4: "Cache", 5: "Template"}

V5_NAMES = {
    8: "srcaddr", 12: "dstaddr", 15: "nexthop", 10: "input", 14: "output", 2: "dPkts", 1: "dOctets", 22: "First",
    21: "Last", 7: "srcport", 11: "dstport", 6: "tcp_flags", 4: "prot", 5: "tos", 16: "src_as", 17: "dst_as",
    9: "src_mask", 13: "dst_mask",
}  # fmt: skip


@cache
def _elements() -> dict[tuple[int, int], Element]:
    with (files(__package__) / "elements.csv").open(encoding="ascii") as file:
        rows = csv.DictReader(file)
        return {(int(r["enterprise"]), int(r["element"])): Element(r["name"], r["type"]) for r in rows}


@cache
def _v9_fields() -> dict[int, Element]:
    with (files(__package__) / "netflow9_fields.csv").open(encoding="ascii") as file:
        return {int(r["field"]): Element(r["name"], r["type"]) for r in csv.DictReader(file)}


@cache
def standard_names() -> frozenset[str]:
    """The names of all elements that have one here."""
    return frozenset(known.name for known in _elements().values())


def element(enterprise: int, number: int) -> Element:
    """An IPFIX information element; enterprise 0 is IANA's own."""
    if enterprise == REVERSE_ENTERPRISE:
        forward = _elements().get((0, number), UNKNOWN)
        return (
            Element("reverse" + forward.name[0].upper() + forward.name[1:], forward.type) if forward.name else UNKNOWN
        )
    return _elements().get((enterprise, number), UNKNOWN)


def v9_field(number: int) -> Element:
    """A NetFlow v9 field type; those without a name of their own have IANA's, which go on where v9 ends.

    From 32768 on they are Cisco's enterprise elements: v9 has no enterprise numbers, so that Cisco's exporters send in
    v9 as one number what in IPFIX is the bit that announces an enterprise, and the element.
    """
    enterprise = CISCO if number & ENTERPRISE_BIT else 0
    return _v9_fields().get(number) or _elements().get((enterprise, number & ~ENTERPRISE_BIT), UNKNOWN)
