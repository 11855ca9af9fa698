"""Records of all feeds -> connections by five-tuple, what each carried when, and the cables it was seen on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from datamodel.cluster.inventory import Link
from datamodel.frame import Frame
from datamodel.reconstructed.connections import CABLE_SIGHTINGS, CONNECTIONS, PAYLOADS, ConnectionTables
from datamodel.reconstructed.streams import Bool, Int
from datamodel.telemetry.counters import NO_READINGS, PortReadings
from datamodel.telemetry.flows import Flows
from reconstruct.numeric.factorize import factorize, factorize_rows
from reconstruct.paths.cable_counts import cable_counts
from reconstruct.paths.cable_ends import CableEnds, Side
from reconstruct.streams.stream_builder import volumes

_USED = frozenset(
    {"src_addr", "dst_addr", "src_port", "dst_port", "proto", "dst_qp", "time_flow_start_ns", "time_flow_end_ns"}
    | {"sampler_address", "in_if", "out_if", "bytes"}
)
_SIDES: tuple[Side, ...] = ("in", "out")
_LATEST = np.iinfo(np.int64).max


def connections(
    flows: Flows,
    primary: Bool,
    switches: Mapping[str, str],
    links: Sequence[Link],
    counters: PortReadings = NO_READINGS,
    volume: Int | None = None,
) -> ConnectionTables:
    """Tables of the connections that carry payload.

    Args:
        flows: of all feeds, duplicate observations included.
        primary: (rows,) records that carry the volume (`select_primary`).
        switches: name of the switch of each exporter's address.
        links: of the inventory, with interface indices.
        counters: of exporters' interfaces, as far as they send them.
        volume: (rows,) payload that each record stands for; None: as the sampling rate says.
    """
    volume = volumes(flows.frame) if volume is None else volume
    rows = np.flatnonzero(volume > 0)
    frame = flows.frame.without(set(flows.frame.schema.names) - _USED).take(rows)
    volume, primary = volume[rows], primary[rows]
    ports = frame["src_port"].astype(np.int64) << 24 | frame["dst_port"].astype(np.int64) << 8 | frame["proto"]
    ends = frame["src_addr"].astype(np.int64) << 32 | frame["dst_addr"]
    _, end = factorize(ends)
    _, port = factorize(ports)
    _, number = factorize(end << 32 | port)
    count = int(number.max(initial=-1)) + 1
    first = np.full(count, len(number))
    np.minimum.at(first, number, np.arange(len(number)))
    pairs, queue_pair = _queue_pairs(number, frame["dst_qp"], count)
    names = ("src_addr", "dst_addr", "src_port", "dst_port", "proto")
    table = {name: frame[name][first] for name in names} | {"queue_pairs": pairs, "dst_qp": queue_pair}
    payloads = {
        "connection": number[primary],
        "start_ns": frame["time_flow_start_ns"][primary],
        "end_ns": frame["time_flow_end_ns"][primary],
        "bytes": volume[primary],
    }
    cables = CableEnds.of(links)
    sightings = _sightings(Flows(frame, flows.addresses), number, switches, cables)
    carried = Frame(PAYLOADS, payloads).sort(*PAYLOADS.names)  # so that sums are the same in any order of records
    window_ns = (int(carried["start_ns"].min(initial=_LATEST)), int(carried["end_ns"].max(initial=0)))
    counted = cable_counts(counters, switches, links, window_ns)
    return ConnectionTables(Frame(CONNECTIONS, table), carried, sightings, cables.shared, flows.addresses, counted)


def _queue_pairs(number: Int, queue_pair: Int, count: int) -> tuple[Int, Int]:
    """(how many queue pairs each connection shows, the smallest)."""
    known = queue_pair >= 0
    number, queue_pair = number[known], queue_pair[known]
    first, _ = factorize_rows(number, queue_pair)
    of, smallest = number[first], np.full(count, -1)
    smallest[of[::-1]] = queue_pair[first][::-1]
    return np.bincount(of, minlength=count), smallest


def _sightings(flows: Flows, number: Int, switches: Mapping[str, str], ends: CableEnds) -> Frame:
    """Cables that records name by the interface they came in by, or left by."""
    parts: list[Int] = []
    for side in _SIDES:
        cable = ends.cables(flows.frame, flows.addresses, switches, side, f"{side}_if")
        seen = np.flatnonzero(cable >= 0)
        parts.append(number[seen] << 32 | cable[seen])
    both, records = np.unique(np.concatenate(parts), return_counts=True)
    return Frame(CABLE_SIGHTINGS, {"connection": both >> 32, "cable": both & 0xFFFFFFFF, "records": records})
