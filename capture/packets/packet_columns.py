"""Packets as they were on the wire: one row a frame, and why a frame was rejected."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Packets = npt.NDArray[np.void]
Record = Any  # one row of a structured array; numba and NumPy have no static type for its fields in common

# Why a frame has no packet row worth using; index into REASONS.
(
    FINE,
    NOT_IP,
    CUT_LINK,
    CUT_NETWORK,
    CUT_TRANSPORT,
    BAD_NETWORK,
    BAD_TRANSPORT,
    UNKNOWN_LINK,
    UNKNOWN_TUNNEL,
    CUT_TUNNEL,
    TOO_DEEP,
    NO_TIME_STAMP,
) = range(12)

REASONS = (
    "",
    "not IP (ARP, LLDP, spanning tree and the like)",
    "cut off before the network header",
    "cut off inside the network header",
    "cut off inside the transport header",
    "malformed IP header",
    "malformed transport header",
    "unknown link type",
    "unknown encapsulation",
    "cut off inside an encapsulation header",
    "encapsulated too deeply",
    "packet without a time stamp",
)

ABSENT = -1  # in `queue_pair`, `opcode` and `syndrome`

PACKET = np.dtype(
    [
        ("time_ns", "i8"),
        # Addresses are two signed 64-bit words; IPv4 is IPv4-mapped. Inside a tunnel these are the inner ones.
        ("src_high", "i8"),
        ("src_low", "i8"),
        ("dst_high", "i8"),
        ("dst_low", "i8"),
        ("sampler_high", "i8"),  # source of an ERSPAN session; both words zero where there is none
        ("sampler_low", "i8"),
        ("sequence", "i8"),  # TCP sequence number or PSN; 0 elsewhere
        ("acknowledged", "i8"),  # TCP acknowledgement number; 0 elsewhere
        ("payload_at", "i8"),  # where the payload of a plain UDP datagram begins in the bytes decoded; 0 elsewhere
        ("message_bytes", "i8"),  # RETH DMA length; 0 where there is none
        ("ip_bytes", "i4"),  # IP header and all that follows it, as the header says
        ("payload_bytes", "i4"),  # transport payload; RoCE: without headers, padding and ICRC
        ("queue_pair", "i4"),  # destination queue pair; Ultra Ethernet: the data sender's context
        ("network", "i4"),  # of VXLAN, Geneve or NVGRE, the innermost one; 0 where there is none
        ("session", "i4"),  # ERSPAN session; 0 where there is none
        ("interface", "i4"),
        ("ip_id", "i4"),
        ("opcode", "i2"),  # BTH opcode, or Ultra Ethernet's packet type beyond them (`capture.packets.uet`)
        ("syndrome", "i2"),  # AETH syndrome
        ("tcp_flags", "u2"),
        ("src_port", "u2"),
        ("dst_port", "u2"),
        ("proto", "u1"),
        ("tos", "u1"),
        ("fragment", "u1"),  # 1: a fragment that is not the first one, hence without ports
        ("more_fragments", "u1"),  # 1: a fragment that others follow
        ("trimmed", "u1"),  # 1: a switch cut off its payload instead of dropping it
        ("header_cut", "u1"),  # 1: a RETH, AETH or semantic header should follow but was cut off
        ("reason", "u1"),  # FINE, or why the rest of the row means nothing
    ],
    align=True,
)
