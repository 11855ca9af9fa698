"""Files of export datagrams, whatever holds them: batches of datagrams in the order of the file."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from capture.capture_file import Batch, batches, is_capture
from capture.datagram import Datagrams
from capture.export_capture import ExportPackets, holds_exports
from capture.ledger import Ledger
from capture.payload_file import is_payload, payloads
from capture.stream import Progress, blocks
from datamodel.errors import InputError

HEAD_BYTES = 64  # enough to tell what a file is


def opened(path: Path, ledger: Ledger, progress: Progress | None) -> tuple[bytes, Iterator[bytes]]:
    """The first bytes of a file, unpacked, and its whole content from the beginning.

    Raises:
        InputError: there is nothing in it.
    """
    content = blocks(path, ledger, progress)
    head = next(content, b"")
    while 0 < len(head) < HEAD_BYTES and (more := next(content, b"")):
        head += more
    if not head:
        cause = ledger.warnings[0].partition(": ")[2] if ledger.warnings else "holds nothing once unpacked"
        raise InputError(f"{path}: {cause}")
    return head, chain([head], content)


def read_datagrams(path: Path, ledger: Ledger, progress: Progress | None = None) -> Iterator[Datagrams]:
    """The export datagrams of a file, in batches; each batch overwrites the one before.

    Args:
        path: a capture (pcap, pcapng) or bare payloads, plain or compressed.
        ledger: told of damage and of packets that carry none.
        progress: called with (bytes of the file read, bytes of the file), from a thread.

    Raises:
        InputError: it cannot be read, or holds no export datagrams.
    """
    head, content = opened(path, ledger, progress)
    if is_payload(head):
        return payloads(content, path.name, ledger)
    if is_capture(head):
        mirror, parts = sorted_out(content, path.name, ledger)
        if not mirror:
            return picked(parts, ledger)
    raise InputError(f"{path}: holds no export datagrams (sFlow, NetFlow v5 or v9, IPFIX)")


def sorted_out(content: Iterator[bytes], name: str, ledger: Ledger) -> tuple[bool, Iterator[Batch]]:
    """Whether a capture is a mirror (and not one of export datagrams), judged by its first packets; and its packets."""
    parts = batches(content, name, ledger)
    first = next((part for part in parts if len(part.packets)), None)
    if first is None:
        return True, iter(())
    return not holds_exports(first), chain([first], parts)


def picked(parts: Iterator[Batch], ledger: Ledger) -> Iterator[Datagrams]:
    """The export datagrams among a capture's packets; the ledger is told of the others at the end."""
    packets = ExportPackets()
    for part in parts:
        yield packets.datagrams(part)
    ledger.reject("packet that carries no export datagram", packets.others)
    ledger.reject("part of a fragmented export datagram", packets.fragments)
