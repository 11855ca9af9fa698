"""Small tables of records to keep."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from datamodel.frame import Frame
from datamodel.telemetry.counters import COUNTERS
from datamodel.telemetry.flows import FLOWS
from storage.lake.lake_writer import CommitBatch

BOOK = ("10.0.0.2", "10.0.0.1", "2001:db8::1", "10.255.0.1")
SECOND_NS = 1_000_000_000


def flows(rows: int, first: int = 0) -> Frame:
    """`rows` records whose bytes count up from `first`, so that every record can be told from every other."""
    number = np.arange(first, first + rows)
    return Frame(
        FLOWS,
        {
            "time_flow_start_ns": number * SECOND_NS,
            "time_flow_end_ns": number * SECOND_NS + 5,
            "src_addr": number % 2,
            "dst_addr": np.full(rows, 2),
            "sampler_address": np.where(number % 3, 3, -1),
            "bytes": number,
            "psn_first": number % (1 << 24),
        },
    )


def counters(rows: int) -> Frame:
    """`rows` readings of interface counters."""
    number = np.arange(rows)
    return Frame(
        COUNTERS,
        {"time_ns": number, "sampler_address": np.full(rows, 3), "interface": number, "in_bytes": number * 1000},
    )


def gpu_counters() -> Frame:
    """One reading of a host's eight GPUs, of which one counts ECC errors."""
    values = {"interface": -1, "gpu_count": 8, "gpu_ecc_errors": 3, "gpu_temperature_c": 71, "gpu_energy_mj": 5}
    return Frame(COUNTERS, {name: [value] for name, value in ({"time_ns": 1, "sampler_address": 3} | values).items()})


def batch(*tables: Frame, until: int = 0, state: bytes = b"{}", totals: Sequence[int] = ()) -> CommitBatch:
    """Records to commit."""
    return CommitBatch(until, tables, BOOK, state, totals={str(i): n for i, n in enumerate(totals)})
