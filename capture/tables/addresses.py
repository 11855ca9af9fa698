"""Addresses in one canonical text form, whatever they looked like on the wire or in a file."""

from __future__ import annotations

import re
from ipaddress import IPv6Address, ip_address
from socket import inet_ntoa

MASK64 = (1 << 64) - 1
MAPPED = 0xFFFF00000000  # ::ffff:0:0/96, the IPv4-mapped block (RFC 4291 section 2.5.5.2)
_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_PLAIN_IPV4 = re.compile(rf"(?:{_OCTET}\.){{3}}{_OCTET}")  # canonical already; a file may name 100,000 of them


def canonical(text: str) -> str | None:
    """`text` in canonical form (RFC 5952; IPv4-mapped IPv6 becomes IPv4), or None where it is no IP address."""
    if _PLAIN_IPV4.fullmatch(text):
        return text
    try:
        address = ip_address(text.strip())
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)


def from_words(high: int, low: int) -> str:
    """Canonical text of the 128-bit address whose halves are two signed 64-bit words; IPv4 travels as IPv4-mapped."""
    low &= MASK64
    if high == 0 and low >> 32 == MAPPED >> 32:
        return inet_ntoa((low & 0xFFFFFFFF).to_bytes(4, "big"))
    return str(IPv6Address((high & MASK64) << 64 | low))
