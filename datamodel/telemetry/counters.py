"""What exporters count besides flows: interface, PFC, queue, host and GPU counters, and discarded packets.

Tables of their own, keyed by exporter, interface and time. Addresses are codes into an address book, as in flows.
"""

from __future__ import annotations

from dataclasses import dataclass

from datamodel.frame import Column, Frame, Schema, empty

COUNTERS = Schema(
    "counters",
    (
        Column("time_ns", "i8", "ns", "when the counters were read, UTC"),
        Column("sampler_address", "i4", "code", "exporter's agent address"),
        Column("observation_domain_id", "u4", "", "sub-agent, observation domain or source id", False),
        Column("interface", "i8", "", "interface index; -1 the device itself"),
        Column("speed_bps", "i8", "bit/s", "nominal speed; 0 unknown", False),
        Column("in_bytes", "i8", "B", "bytes received since the counter began; -1 unknown", False, -1),
        Column("out_bytes", "i8", "B", "bytes sent since the counter began; -1 unknown", False, -1),
        Column("in_packets", "i8", "", "packets received; -1 unknown", False, -1),
        Column("out_packets", "i8", "", "packets sent; -1 unknown", False, -1),
        Column("in_errors", "i8", "", "packets received in error; -1 unknown", False, -1),
        Column("out_errors", "i8", "", "packets not sent because of errors; -1 unknown", False, -1),
        Column("in_discards", "i8", "", "packets discarded on the way in; -1 unknown", False, -1),
        Column("out_discards", "i8", "", "packets discarded on the way out; -1 unknown", False, -1),
        Column(
            "priority", "i1", "", "PFC priority or queue the next columns are about; -1 the whole interface", False, -1
        ),
        Column("pause_in_frames", "i8", "", "PFC pause frames received; -1 unknown", False, -1),
        Column("pause_out_frames", "i8", "", "PFC pause frames sent; -1 unknown", False, -1),
        Column("queue_depth_bytes", "i8", "B", "bytes waiting in the queue; -1 unknown", False, -1),
        # Of the device itself. What sFlow counts in 32 bits begins again at 0: take differences modulo 2^32.
        Column(
            "cpu_busy_ms", "i8", "ms", "processor time spent working, of all cores, mod 2^32; -1 unknown", False, -1
        ),
        Column("cpu_wait_ms", "i8", "ms", "processor time spent waiting for disks, mod 2^32; -1 unknown", False, -1),
        Column("cpu_idle_ms", "i8", "ms", "processor time spent idle, mod 2^32; -1 unknown", False, -1),
        Column("memory_total_bytes", "i8", "B", "memory of the host; -1 unknown", False, -1),
        Column("memory_free_bytes", "i8", "B", "memory that nothing uses, caches neither; -1 unknown", False, -1),
        Column("gpu_count", "i8", "", "GPUs that the next columns are about; -1 unknown", False, -1),
        Column("gpu_busy_ms", "i8", "ms", "time with a kernel running, sum of GPUs, mod 2^32; -1 unknown", False, -1),
        Column("gpu_memory_total_bytes", "i8", "B", "memory of all GPUs; -1 unknown", False, -1),
        Column("gpu_memory_free_bytes", "i8", "B", "free memory of all GPUs; -1 unknown", False, -1),
        Column("gpu_ecc_errors", "i8", "", "volatile ECC errors, sum of GPUs; -1 unknown", False, -1),
        Column("gpu_energy_mj", "i8", "mJ", "energy used, sum of GPUs, mod 2^32; -1 unknown", False, -1),
        Column("gpu_temperature_c", "i8", "°C", "temperature of the hottest GPU; -1 unknown", False, -1),
        Column("gpu_fan_percent", "i8", "%", "speed of the fastest GPU fan; -1 unknown", False, -1),
    ),
)

_PORT_COLUMNS = frozenset({"time_ns", "sampler_address", "interface", "in_bytes", "out_bytes", "priority"})
# What loads of links are checked by, of all that is counted.
PORT_COUNTERS = Schema("counters", tuple(column for column in COUNTERS if column.name in _PORT_COLUMNS))
_NOT_READ = empty(PORT_COUNTERS)


@dataclass(frozen=True, slots=True)
class PortReadings:
    """Readings of the byte counters of exporters' interfaces.

    Attributes:
        frame: rows of `PORT_COUNTERS`.
        addresses: address of each code.
    """

    frame: Frame = _NOT_READ
    addresses: tuple[str, ...] = ()

    @classmethod
    def of(cls, counters: Frame, addresses: tuple[str, ...]) -> PortReadings:
        """Of rows with the columns of `PORT_COUNTERS` and maybe more: those of whole interfaces that count bytes."""
        whole = (counters["priority"] == -1) & (counters["interface"] >= 0)
        known = whole & ((counters["in_bytes"] >= 0) | (counters["out_bytes"] >= 0))
        return cls(counters.without(set(counters.schema.names) - _PORT_COLUMNS).take(known), addresses)


NO_READINGS = PortReadings()
DROPS = Schema(
    "drops",
    (
        Column("time_ns", "i8", "ns", "when the packet was discarded, UTC"),
        Column("sampler_address", "i4", "code", "exporter's agent address"),
        Column("in_if", "i8", "", "interface it came in by; 0 unknown", False),
        Column("out_if", "i8", "", "interface it was to leave by; 0 unknown", False),
        Column("src_addr", "i4", "code", "sender; -1 unknown", False, -1),
        Column("dst_addr", "i4", "code", "receiver; -1 unknown", False, -1),
        Column("reason", "i4", "code", "drop reason of the sFlow drop notification structures (sFlow.org, 2020)"),
        Column("packets", "i8", "", "packets this row stands for", False, 1),
    ),
)
