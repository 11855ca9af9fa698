"""Counter samples, and queue depths of flow samples, to rows of `COUNTERS`."""

from __future__ import annotations

from capture.jit import jit, wide
from capture.packets.headers import be32, be64
from capture.packets.packet_columns import Record
from capture.sflow.sflow_layout import IF_INDEX, PHYSICAL_ENTITY, UNKNOWN_COUNTER
from capture.tables.read_buffer import Bytes
from capture.tables.row_blocks import Block

_UNKNOWN = -1
_DEVICE = -1  # in the column of interfaces
_LARGEST_U32 = 0xFFFFFFFF
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
    block["cpu_busy_ms"][row] = _UNKNOWN
    block["cpu_wait_ms"][row] = _UNKNOWN
    block["cpu_idle_ms"][row] = _UNKNOWN
    block["memory_total_bytes"][row] = _UNKNOWN
    block["memory_free_bytes"][row] = _UNKNOWN
    block["gpu_count"][row] = _UNKNOWN
    block["gpu_busy_ms"][row] = _UNKNOWN
    block["gpu_memory_total_bytes"][row] = _UNKNOWN
    block["gpu_memory_free_bytes"][row] = _UNKNOWN
    block["gpu_ecc_errors"][row] = _UNKNOWN
    block["gpu_energy_mj"][row] = _UNKNOWN
    block["gpu_temperature_c"][row] = _UNKNOWN
    block["gpu_fan_percent"][row] = _UNKNOWN


@jit
def counts_interface(sample: Record) -> bool:
    """Whether a counter sample has counters of an interface; pause counters alone are of the data source."""
    return bool(sample["interface_at"] >= 0 or (sample["pause_at"] >= 0 and sample["source_class"] == IF_INDEX))


@jit
def counts_device(sample: Record) -> bool:
    """Whether a counter sample has counters of the device itself; virtual machines and containers are none."""
    found = max(sample["cpu_at"], sample["memory_at"], sample["gpu_at"]) >= 0
    return bool(found and sample["source_class"] == PHYSICAL_ENTITY)


@jit
def counter_row(data: Bytes, sample: Record, moment: Record, block: Block, row: int) -> bool:
    """Write what a counter sample says of its interface, or of the device itself; false where it says nothing of them.

    The interface is the one the generic counters name; pause counters alone are of the data source.
    """
    if counts_interface(sample):
        interface_row(data, sample, moment, block, row)
        return True
    if not counts_device(sample):
        return False
    open_row(block, row, moment["arrival_ns"], moment, _DEVICE)
    host_counters(data, sample, block, row)
    gpu_counters(data, sample, block, row)
    return True


@jit
def interface_row(data: Bytes, sample: Record, moment: Record, block: Block, row: int) -> None:
    """Write what a counter sample says of its interface."""
    at, pause = sample["interface_at"], sample["pause_at"]
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


@jit
def host_counters(data: Bytes, sample: Record, block: Block, row: int) -> None:
    """Write processor times and memory of a host."""
    cpu, memory = sample["cpu_at"], sample["memory_at"]
    if cpu >= 0:
        # User, nice, system, interrupts, soft interrupts: each begins again at 2^32, and so does their sum.
        busy = be32(data, cpu + 32) + be32(data, cpu + 36) + be32(data, cpu + 40)
        busy += be32(data, cpu + 52) + be32(data, cpu + 56)
        known = counter(data, cpu + 32) >= 0
        block["cpu_busy_ms"][row] = busy & _LARGEST_U32 if known else wide(_UNKNOWN)
        block["cpu_idle_ms"][row] = counter(data, cpu + 44)
        block["cpu_wait_ms"][row] = counter(data, cpu + 48)
    if memory >= 0:
        block["memory_total_bytes"][row] = max(be64(data, memory), wide(_UNKNOWN))
        block["memory_free_bytes"][row] = max(be64(data, memory + 8), wide(_UNKNOWN))


@jit
def gpu_counters(data: Bytes, sample: Record, block: Block, row: int) -> None:
    """Write what NVML counts of all GPUs of a host."""
    at = sample["gpu_at"]
    if at < 0:
        return
    block["gpu_count"][row] = counter(data, at)
    block["gpu_busy_ms"][row] = counter(data, at + 8)
    block["gpu_memory_total_bytes"][row] = max(be64(data, at + 16), wide(_UNKNOWN))
    block["gpu_memory_free_bytes"][row] = max(be64(data, at + 24), wide(_UNKNOWN))
    block["gpu_ecc_errors"][row] = counter(data, at + 32)
    block["gpu_energy_mj"][row] = counter(data, at + 36)
    block["gpu_temperature_c"][row] = counter(data, at + 40)
    block["gpu_fan_percent"][row] = counter(data, at + 44)


@jit
def queue_row(sample: Record, moment: Record, block: Block, row: int) -> None:
    """Write the depth of the queue that a sampled packet waited in."""
    open_row(block, row, moment["time_ns"], moment, moment["out_if"])
    block["queue_depth_bytes"][row] = sample["queue_depth"]
    if 0 <= sample["queue"] <= _LARGEST_QUEUE:
        block["priority"][row] = sample["queue"]
