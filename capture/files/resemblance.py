"""What a damaged export datagram was: by how much of it still is as its protocol's specification has it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from struct import unpack_from

from capture.exporters.datagram import IPFIX, NETFLOW5, NETFLOW9, NO_EXPORT, SFLOW5, announced
from capture.files.capture_file import Batch
from capture.packets.packet_columns import FINE
from capture.tables.read_buffer import as_array

# Ports on which collectors listen: IANA's of sFlow and IPFIX, and those that exporters are usually configured with.
EXPORT_PORTS = {6343: SFLOW5, 4739: IPFIX, 2055: NETFLOW9, 9995: NETFLOW9, 9996: NETFLOW9}

_JUDGED_PACKETS = 256
_HEAD_BYTES = 36  # as many as are looked at
# Facts of a header that may be wrong: more of them where its version is right.
_WRONG_FACTS, _WRONG_FACTS_OF_VERSION = 1, 2
_MOST_FIELD_TYPES = 512
_YEARS_S = (946_684_800, 4_102_444_800)  # 2000 to 2100
_TEXT = frozenset(range(32, 127)) | set(b"\t\n\r")


def resembles(head: bytes) -> int:
    """The protocol of a damaged datagram that begins with `head`; NO_EXPORT where it resembles none."""
    if all(byte in _TEXT for byte in head):
        return NO_EXPORT
    version = int(announced(as_array(head), 0, len(head)))
    if len(head) < _HEAD_BYTES:
        return version
    facts = {SFLOW5: _sflow(head), NETFLOW5: _netflow5(head), NETFLOW9: _netflow9(head), IPFIX: _ipfix(head)}
    if version != NO_EXPORT:
        return version if _wrong(facts[version]) <= _WRONG_FACTS_OF_VERSION else NO_EXPORT
    best = min(facts, key=lambda protocol: (_wrong(facts[protocol]), -len(facts[protocol])))
    return best if _wrong(facts[best]) <= _WRONG_FACTS else NO_EXPORT


def damaged_exports(batch: Batch) -> Counter[int]:
    """Which of a batch's first packets are damaged export datagrams by their form or else by their port, by protocol.

    Where they are not most of those packets, the answer is empty.
    """
    found: Counter[int] = Counter()
    judged = batch.packets[:_JUDGED_PACKETS]
    for packet in judged[(judged["reason"] == FINE) & (judged["payload_at"] > 0) & (judged["fragment"] == 0)]:
        at, size = int(packet["payload_at"]), min(int(packet["payload_bytes"]), _HEAD_BYTES)
        form = resembles(batch.data[at : at + size].tobytes())
        found[form or EXPORT_PORTS.get(int(packet["dst_port"]), NO_EXPORT)] += 1
    del found[NO_EXPORT]
    return found if 2 * found.total() > len(judged) else Counter()


def _wrong(facts: Sequence[bool]) -> int:
    return len(facts) - sum(facts)


def _sflow(head: bytes) -> Sequence[bool]:
    version, family = unpack_from("!II", head)
    samples = 24 if family != 2 else 36
    count = unpack_from("!I", head, samples)[0] if samples + 4 <= len(head) else 1
    kind = unpack_from("!I", head, 28)[0] if family == 1 else 1
    return version == 5, family in (1, 2), 1 <= count < 1000, 1 <= kind <= 5


def _netflow5(head: bytes) -> Sequence[bool]:
    version, count, _, seconds, nanoseconds = unpack_from("!HHIII", head)
    return version == 5, 1 <= count <= 30, _is_time(seconds), nanoseconds < 10**9


def _netflow9(head: bytes) -> Sequence[bool]:
    version, count, _, seconds, _, _, number, size, template, _, field = unpack_from("!HHIIIIHHHHH", head)
    known = number > 255 or (number < 2 and template > 255 and field < _MOST_FIELD_TYPES)
    return version == 9, 1 <= count < 1000, _is_time(seconds), known, size >= 8


def _ipfix(head: bytes) -> Sequence[bool]:
    version, size, seconds, _, _, number, set_size = unpack_from("!HHIIIHH", head)
    known = number in (2, 3) or number > 255
    return version == 10, size > 16, _is_time(seconds), known, 4 <= set_size <= max(size - 16, 4)


def _is_time(seconds: int) -> bool:
    return _YEARS_S[0] <= seconds < _YEARS_S[1]
