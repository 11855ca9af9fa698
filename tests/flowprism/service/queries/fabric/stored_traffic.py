"""The bundled capture's store with a lake beside it: counters of two access ports, and marks of sampled packets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from datamodel.frame import Frame, concat
from datamodel.telemetry.counters import COUNTERS
from datamodel.telemetry.flows import FLOWS
from flowprism.service.stores import Stores
from storage.lake.lake_writer import CommitBatch, LakeWriter
from storage.lake.object_names import Writer, make_folders
from tests.flowprism.service.stored import demo_analysis

SECOND_NS = 10**9
END_NS = demo_analysis().report.window.end_ns // SECOND_NS * SECOND_NS
BEGIN_NS = END_NS - 600 * SECOND_NS
READINGS = np.arange(BEGIN_NS, END_NS + 1, 20 * SECOND_NS, dtype=np.int64)
BOOK = ("192.168.250.12", "10.2.3.2", "10.2.4.2")  # leaf2, one endpoint on its port 8, another


def with_traffic(stores: Stores, folder: Path) -> Stores:
    """Port 8 of leaf2 takes in 1 GB/s and discards 5 packets a second in its second half, port 9 takes in 3 GB/s.

    One in ten of the packets that port 8 takes in is marked, in the first half only; every second record, of a flow
    cache, does not say.
    """
    make_folders(folder)
    counted = concat(COUNTERS, [_port(8, 10**9, discards=5), _port(9, 3 * 10**9, discards=0)])
    tables = (counted, _samples())
    LakeWriter(folder, Writer("collect", 0), 1).commit(CommitBatch(1, tables, BOOK, b""))
    return replace(stores, flows=str(folder))


def _port(port: int, bytes_per_s: int, discards: int) -> Frame:
    seconds = (READINGS - BEGIN_NS) // SECOND_NS
    late = np.maximum(seconds - 300, 0)
    columns = {
        "time_ns": READINGS,
        "sampler_address": np.zeros(len(READINGS)),
        "interface": np.full(len(READINGS), port),
        "in_bytes": 7 + seconds * bytes_per_s,
        "out_bytes": seconds * 10**6,
        "in_discards": discards * late,
        "out_discards": np.zeros(len(READINGS)),
    }
    whole = Frame(COUNTERS, columns)
    return whole if port != 8 else _with_pauses(whole, seconds)


def _with_pauses(whole: Frame, seconds: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Frame:
    """Rows of the interface, and of its priority 3, which counts pause frames."""
    names = ("time_ns", "sampler_address", "interface")
    columns = {name: np.concatenate([whole[name], whole[name]]) for name in names}
    unknown = np.full(len(seconds), -1)
    for name in ("in_bytes", "out_bytes", "in_discards", "out_discards"):
        columns[name] = np.concatenate([whole[name], unknown])
    columns["priority"] = np.repeat([-1, 3], len(seconds))
    columns["pause_in_frames"] = np.concatenate([unknown, 2 * seconds])
    return Frame(COUNTERS, columns)


def _samples() -> Frame:
    times = np.arange(BEGIN_NS, END_NS, SECOND_NS // 10, dtype=np.int64)
    marked = (np.arange(len(times)) % 20 == 1) & (times < BEGIN_NS + 300 * SECOND_NS)
    columns = {
        "time_flow_start_ns": times,
        "time_flow_end_ns": times,
        "sampler_address": np.zeros(len(times)),
        "src_addr": np.full(len(times), 1),
        "dst_addr": np.full(len(times), 2),
        "packets": np.ones(len(times)),
        "sampling_rate": np.full(len(times), 1000),
        "bytes": np.full(len(times), 4096),
        "payload_bytes": np.where(np.arange(len(times)) % 2, 4000, -1),
        "in_if": np.full(len(times), 8),
        "out_if": np.full(len(times), 1),
        "ecn_ce_packets": marked,
    }
    return Frame(FLOWS, columns)
