"""Which transports carry the bytes of flow records, and what of it no decoder understands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Int
from datamodel.telemetry.flows import ROCE_V2_PORT, TCP, UDP, UET_PORT

ROCE, ULTRA_ETHERNET, UNREADABLE = "RoCEv2", "Ultra Ethernet", "Ultra Ethernet with unreadable headers"
UNKNOWN = "unknown"
# IP protocols by their names; the last ones carry no user data.
NAMES = {0: UNKNOWN, 1: "ICMP", 2: "IGMP", TCP: "TCP", 47: "GRE", 50: "ESP", 51: "AH", 58: "ICMPv6", 89: "OSPF",
         103: "PIM", 112: "VRRP", 132: "SCTP"}  # fmt: skip
UNDERSTOOD = frozenset({ROCE, ULTRA_ETHERNET, UNKNOWN, "TCP", "ICMP", "IGMP", "ICMPv6", "OSPF", "PIM", "VRRP"})
OTHER_UDP = "UDP, other ports"
# So many ports of UDP have names of their own.
MOST_PORTS = 5
# A smaller share of the bytes is worth no warning.
WARNED_SHARE = 0.01
_UNREADABLE_BIT = 1 << 24
# Large tables are added up piece by piece, so that they need no memory of their size again.
ROWS_AT_ONCE = 1 << 20
_COLUMNS = (
    "bytes", "prescaled", "sampling_rate", "proto", "src_port", "dst_port", "payload_bytes", "roce_opcode_first",
)  # fmt: skip


def bytes_by_transport(frame: Frame) -> dict[str, int]:
    """Bytes of each transport, most first, scaled by the sampling rate where that is known.

    UDP that is neither RoCE nor Ultra Ethernet goes by the lower of its two ports. Packets to Ultra Ethernet's port of
    which nothing could be read (they are encrypted, or something else) count apart where packets were decoded.
    """
    volumes: Counter[int] = Counter()
    for low in range(0, len(frame), ROWS_AT_ONCE):
        rows = slice(low, low + ROWS_AT_ONCE)
        _add({name: frame[name][rows] for name in _COLUMNS}, volumes)
    return named(volumes)


def _add(columns: Mapping[str, Int], volumes: Counter[int]) -> None:
    """Add the bytes of some rows to those by protocol and port."""
    size = columns["bytes"] * np.where(columns["prescaled"], 1, np.maximum(columns["sampling_rate"], 1))
    udp, to = columns["proto"] == UDP, columns["dst_port"].astype(np.int64)
    lower = np.minimum(columns["src_port"].astype(np.int64), to)
    port = np.where(udp, np.where((to == ROCE_V2_PORT) | (to == UET_PORT), to, lower), 0)
    decoded = (columns["payload_bytes"] >= 0) & (columns["roce_opcode_first"] < 0)
    kind = columns["proto"].astype(np.int64) << 16 | port | np.where(decoded & (port == UET_PORT), _UNREADABLE_BIT, 0)
    common = kind == kind[0]  # nearly all of most feeds
    volumes[int(kind[0])] += int(size[common].sum())
    kinds, of = np.unique(kind[~common], return_inverse=True)
    volume = np.zeros(len(kinds), np.int64)
    np.add.at(volume, of, size[~common])
    volumes.update(dict(zip(kinds.tolist(), volume.tolist(), strict=True)))


def named(volumes: Mapping[int, int]) -> dict[str, int]:
    """Bytes by name, most first, from those by protocol and port."""
    found: dict[str, int] = {}
    for kind, volume in volumes.items():
        name = _name(kind)
        found[name] = found.get(name, 0) + volume
    return few_ports(found)


def few_ports(found: Mapping[str, int]) -> dict[str, int]:
    """Bytes by name, most first, ports of UDP beyond the first few together."""
    by_volume = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    ports = [name for name, _ in by_volume if name.startswith("UDP port ")]
    together = dict.fromkeys(ports[MOST_PORTS:], OTHER_UDP)
    result: dict[str, int] = {}
    for name, volume in by_volume:
        group = together.get(name, name)
        result[group] = result.get(group, 0) + volume
    return dict(sorted(result.items(), key=lambda item: (-item[1], item[0])))


def warnings(volumes: Mapping[str, int]) -> tuple[str, ...]:
    """What no decoder understands, with its share of the bytes."""
    total = sum(volumes.values())
    strange = {name: volume for name, volume in volumes.items() if name not in UNDERSTOOD and volume > 0}
    share = sum(strange.values()) / max(total, 1)
    if share < WARNED_SHARE:
        return ()
    listing = ", ".join(f"{name} {100 * volume / total:.3g} %" for name, volume in strange.items())
    return (f"{100 * share:.3g} % of the bytes are of transports that no decoder understands ({listing})",)


def _name(kind: int) -> str:
    proto, port = kind >> 16 & 0xFF, kind & 0xFFFF
    if proto == UDP and port == UET_PORT:
        return UNREADABLE if kind & _UNREADABLE_BIT else ULTRA_ETHERNET
    if proto == UDP:
        return ROCE if port == ROCE_V2_PORT else f"UDP port {port}"
    return NAMES.get(proto, f"IP protocol {proto}")
