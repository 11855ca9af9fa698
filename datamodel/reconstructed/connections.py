"""Connections by five-tuple, the records of each, and the cables that each was seen to pass."""

from __future__ import annotations

from dataclasses import dataclass

from datamodel.frame import Column, Frame, Schema, empty

CONNECTIONS = Schema(
    "connections",
    (
        Column("src_addr", "i4", "code", "sender"),
        Column("dst_addr", "i4", "code", "receiver"),
        Column("src_port", "u2", "", "transport source port"),
        Column("dst_port", "u2", "", "transport destination port"),
        Column("proto", "u1", "", "IP protocol number"),
        Column("queue_pairs", "i4", "", "receiving queue pairs seen; several share the five-tuple, and so the path"),
        Column("dst_qp", "i8", "", "the smallest of them; -1 none seen"),
    ),
)

PAYLOADS = Schema(
    "payloads",
    (
        Column("connection", "i8", "", "row of the connection"),
        Column("start_ns", "i8", "ns", "first packet, UTC"),
        Column("end_ns", "i8", "ns", "last packet, UTC"),
        Column("bytes", "i8", "B", "payload, scaled by the sampling rate"),
    ),
)

CABLE_SIGHTINGS = Schema(
    "cable_sightings",
    (
        Column("connection", "i8", "", "row of the connection"),
        Column(
            "cable", "i8", "", "directed cable: 2 n is link n of `Inventory.cables` from a to b, 2 n + 1 from b to a"
        ),
        Column("records", "i8", "", "records and samples that show it there"),
    ),
)

CABLE_COUNTS = Schema(
    "cable_counts",
    (
        Column("cable", "i8", "", "directed cable, as in `cable_sightings`"),
        Column("start_ns", "i8", "ns", "first reading of its interface's counter in the window, UTC"),
        Column("end_ns", "i8", "ns", "last reading"),
        Column("bytes", "i8", "B", "Ethernet bytes by which the counter grew"),
    ),
)
_NOT_COUNTED = empty(CABLE_COUNTS)


@dataclass(frozen=True, slots=True)
class ConnectionTables:
    """What is known of the connections of a window.

    Attributes:
        table: (`CONNECTIONS`) by sender, receiver and ports.
        payloads: (`PAYLOADS`) records that carry their volume, each byte once.
        sightings: (`CABLE_SIGHTINGS`) cables that they were seen on.
        shared_ports: interfaces, as "switch ifIndex", that several links of the inventory name.
        addresses: address of each code.
        counted: (`CABLE_COUNTS`) what counters of interfaces say; none where no exporter sends them.
    """

    table: Frame
    payloads: Frame
    sightings: Frame
    shared_ports: tuple[str, ...]
    addresses: tuple[str, ...]
    counted: Frame = _NOT_COUNTED
