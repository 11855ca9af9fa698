"""IPFIX messages in a stream of bytes: a TCP session (RFC 7011 section 10.4) or an IPFIX file (RFC 5655)."""

from __future__ import annotations

from datamodel.errors import InputError

_VERSION = b"\x00\x0a"
_HEADER_BYTES = 16


def split(buffer: bytes) -> tuple[list[bytes], bytes]:
    """The whole messages that `buffer` begins with, and the rest: the beginning of the next.

    Messages follow one another without a gap, and only their lengths tell where the next begins; so a stream in which
    one header is wrong cannot be read on, and an exporter must connect anew.

    Raises:
        InputError: where a message should begin there is none.
    """
    messages = []
    at = 0
    while at + 4 <= len(buffer):
        length = int.from_bytes(buffer[at + 2 : at + 4], "big")
        if buffer[at : at + 2] != _VERSION or length < _HEADER_BYTES:
            raise InputError(f"IPFIX stream: no message begins where one should, after {at} bytes")
        if at + length > len(buffer):
            break
        messages.append(buffer[at : at + length])
        at += length
    return messages, buffer[at:]
