"""How structures of sFlow are declared: their names and, member by member, what stands on the wire.

Those of flow samples are in `capture.sflow.flow_structures`, those of counter samples in
`capture.sflow.counter_structures`.

Sources: sFlow version 5 (sflow.org, July 2004), the extension specifications that sflow.org's table of structure
numbers lists, and the structures agents send that the table does not have yet (flow 1041 to 1043, counters 11).
Members are named as there. A type is one of

    u32 u64 i32 f32   integers and floating point, big-endian
    mac               six bytes and two of padding
    ip4 ip6           an address; `ip` is preceded by its version
    records           counted structures, each behind its type and size
    text hex          counted bytes, padded to a multiple of four; hex16 has 16 bytes and no count
    u32s              counted integers
    (member, ...)     counted repetitions of these members
"""

from __future__ import annotations

Type = str | tuple["Member", ...]
Member = tuple[str, Type]
Number = tuple[int, int]  # enterprise and format
Structure = tuple[str, tuple[Member, ...]]


def each(kind: Type, names: str) -> tuple[Member, ...]:
    """Members of one type, their names set apart by blanks."""
    return tuple((name, kind) for name in names.split())
