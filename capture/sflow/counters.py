"""Counter samples, and queue depths of flow samples, to rows of `COUNTERS`."""

from __future__ import annotations

from capture.jit import jit, wide
from capture.packets.headers import be32, be64
from capture.packets.packet_columns import Record
from capture.sflow.sflow_layout import IF_INDEX, UNKNOWN_COUNTER
from capture.tables.read_buffer import Bytes
from capture.tables.row_blocks import Block

_UNKNOWN = -1
_LARGEST_QUEUE = 127  # that the column can hold


@jit
def counter(data: Bytes, at: int) -> int:
    """A 32-bit counter; -1 where the agent says that it cannot count it."""
    value = be32(data, at)
    return _UNKNOWN if value == UNKNOWN_COUNTER else value


@jit
def packets(data: Bytes, at: int) -> int:
    """Unicast, multicast and broadcast packets together; those not counted apart are among the unicast ones."""
    unicast, multicast, broadcast = counter(data, at), counter(data, at + 4), counter(data, at + 8)
    if unicast < 0:
        return wide(_UNKNOWN)
    return unicast + max(multicast, wide(0)) + max(broadcast, wide(0))


@jit
def open_row(block: Block, row: int, time_ns: int, moment: Record, interface: int) -> None:
    """Begin a row in which nothing is known yet."""
    block["time_ns"][row] = time_ns
    block["sampler_address"][row] = moment["sampler"]
    block["observation_domain_id"][row] = moment["domain"]
    block["interface"][row] = interface
    block["speed_bps"][row] = 0
    block["in_bytes"][row] = _UNKNOWN
    block["out_bytes"][row] = _UNKNOWN
    block["in_packets"][row] = _UNKNOWN
    block["out_packets"][row] = _UNKNOWN
    block["in_errors"][row] = _UNKNOWN
    block["out_errors"][row] = _UNKNOWN
    block["in_discards"][row] = _UNKNOWN
    block["out_discards"][row] = _UNKNOWN
    block["priority"][row] = _UNKNOWN
    block["pause_in_frames"][row] = _UNKNOWN
    block["pause_out_frames"][row] = _UNKNOWN
    block["queue_depth_bytes"][row] = _UNKNOWN


@jit
def counter_row(data: Bytes, sample: Record, moment: Record, block: Block, row: int) -> bool:
    """Write what a counter sample says of its interface; false where it says nothing of one.

    The interface is the one the generic counters name; pause counters alone are of the data source.
    """
    at, pause = sample["interface_at"], sample["pause_at"]
    if at < 0 and (pause < 0 or sample["source_class"] != IF_INDEX):
        return False
    named = sample["source_index"] if at < 0 else be32(data, at)
    open_row(block, row, moment["arrival_ns"], moment, named)
    if at >= 0:
        block["speed_bps"][row] = max(be64(data, at + 8), wide(0))
        block["in_bytes"][row] = max(be64(data, at + 24), wide(_UNKNOWN))
        block["in_packets"][row] = packets(data, at + 32)
        block["in_discards"][row] = counter(data, at + 44)
        block["in_errors"][row] = counter(data, at + 48)
        block["out_bytes"][row] = max(be64(data, at + 56), wide(_UNKNOWN))
        block["out_packets"][row] = packets(data, at + 64)
        block["out_discards"][row] = counter(data, at + 76)
        block["out_errors"][row] = counter(data, at + 80)
    if pause >= 0:
        # IEEE8021-PFC-MIB: requests are what the port asked to be sent, indications what it received.
        block["pause_out_frames"][row] = counter(data, pause)
        block["pause_in_frames"][row] = counter(data, pause + 4)
    return True


@jit
def queue_row(sample: Record, moment: Record, block: Block, row: int) -> None:
    """Write the depth of the queue that a sampled packet waited in."""
    open_row(block, row, moment["time_ns"], moment, moment["out_if"])
    block["queue_depth_bytes"][row] = sample["queue_depth"]
    if 0 <= sample["queue"] <= _LARGEST_QUEUE:
        block["priority"][row] = sample["queue"]
