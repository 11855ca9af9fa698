"""One flow, many sightings: of several feeds, exporters and directions that saw the same bytes, one counts them."""

from __future__ import annotations

import numpy as np

from datamodel.frame import Array, Frame
from datamodel.reconstructed.streams import Bool, Int
from datamodel.telemetry.flows import Flows
from reconstruct.numeric.factorize import factorize, factorize_rows
from reconstruct.numeric.row_runs import place_within

MIRROR, EXACT, SAMPLED = 0, 1, 2
CONNECTION = ("src_addr", "dst_addr", "dst_qp", "src_port", "dst_port", "proto")
POINT = ("sampler_address", "observation_domain_id", "flow_direction")
_NEVER = np.iinfo(np.int64).max


def select_primary(flows: Flows) -> Bool:
    """(rows,) which rows carry the volume; the others saw what another one saw better, and are evidence only.

    1. Between two endpoints the best kind of feed counts: a mirror, then exact records, then samples (or records
       whose sampling rate nobody knows).
    2. Of one connection, the observation point (exporter, domain, direction) with most records of it counts: leaf and
       spine, ingress and egress each see all of it, or a part. Ties go to the larger volume, then to the point whose
       exporter, domain and direction sort first. Samples all count: each point takes others of the same bytes.

    The others count before the first and after the last record of the best one's whole feed: while that runs, it sees
    all of what it sees at all.
    """
    frame = flows.frame
    kind = _kinds(frame)
    kept = np.ones(len(frame), np.bool_)
    if not _is_constant(kind):
        kept = _best(_codes([frame["src_addr"], frame["dst_addr"]]), kind, kind, frame, kept)
    complete = is_unsampled(frame)
    counting = kept & complete
    return select_points(frame, counting) | (kept & ~complete) if counting.any() else kept


def select_points(frame: Frame, counting: Bool) -> Bool:
    """(rows,) of those that count, the ones of each connection's best point, and of others outside of its time."""
    if all(_is_constant(frame[name]) for name in POINT):
        return counting
    connection, point = _codes([frame[name] for name in CONNECTION]), _codes([frame[name] for name in POINT])
    return _best(connection, _by_records(connection, point, frame, counting), point, frame, counting)


def _kinds(frame: Frame) -> Int:
    """What kind of feed each row comes from: MIRROR, EXACT or SAMPLED."""
    exact = (frame["sampling_rate"] == 1) | frame["prescaled"].astype(np.bool_)
    return np.where(frame["payload_bytes"] >= 0, MIRROR, np.where(exact, EXACT, SAMPLED)).astype(np.int64)


def find_observation_intervals(rows: Frame) -> tuple[Int, Int]:
    """From when until when each stream's observation points are known to have looked, (n,) ns each.

    A point looks from the first to the last of what it saw of all streams. What lies before or after was not seen,
    which is not to say that it did not happen.

    Args:
        rows: (2n,) with which each stream begins, and with which each ends; that may be another point's.
    """
    point = _codes([*(rows[name] for name in POINT), _kinds(rows)])
    looked_ns, ended_ns = np.full(len(rows), _NEVER), np.full(len(rows), -_NEVER)
    np.minimum.at(looked_ns, point, rows["time_flow_start_ns"])
    np.maximum.at(ended_ns, point, rows["time_flow_end_ns"])
    streams = len(rows) // 2
    return looked_ns[point[:streams]], ended_ns[point[streams:]]


def is_unsampled(frame: Frame) -> Bool:
    """(rows,) records that count every byte, as far as their exporter says; streams are made of no others.

    The rest are samples of a known rate: each point takes others, and they are never added up over points.
    """
    return np.asarray((frame["sampling_rate"] <= 1) | frame["prescaled"] | (frame["payload_bytes"] >= 0), np.bool_)


def number_exporters(frame: Frame) -> Int:
    """(rows,) number of each record's exporter and domain, from 0 up."""
    return factorize(frame["sampler_address"].astype(np.int64) << 32 | frame["observation_domain_id"])[1]


def is_of_cache(frame: Frame, some: Bool) -> Bool:
    """(rows,) records of exporters that metered some of these records: a cache counts a single packet in others."""
    exporter, caches = number_exporters(frame), np.zeros(len(frame), np.bool_)
    caches[exporter[some & frame["metered"].astype(np.bool_)]] = True
    return caches[exporter]


def _is_constant(column: Array) -> bool:
    return not len(column) or column.strides == (0,) or bool((column == column[0]).all())


def _codes(columns: list[Int]) -> Int:
    """(rows,) a number for each distinct row of the columns, in the order in which they sort."""
    differing = [column for column in columns if not _is_constant(column)]
    return factorize_rows(*differing)[1] if differing else np.zeros(len(columns[0]), np.int64)


def _by_records(connection: Int, point: Int, frame: Frame, kept: Bool) -> Int:
    """(rows,) rank of each row's observation point among those of its connection, 0 for the best."""
    points = int(point.max()) + 1
    sights, sight = factorize(connection * points + point)
    volume = np.bincount(sight, np.where(kept, frame["bytes"] * np.maximum(frame["sampling_rate"], 1), 0))
    order = np.lexsort([sights % points, -volume, -np.bincount(sight, kept), sights // points])
    of = (sights // points)[order]
    rank = np.empty(len(sights), np.int64)
    rank[order] = place_within(of)
    return rank[sight]


def _best(group: Int, rank: Int, source: Int, frame: Frame, kept: Bool) -> Bool:
    """Of the rows kept so far: those that no better rank of their group covers.

    Args:
        group: (rows,) what is seen.
        rank: (rows,) how good the sight is, 0 best.
        source: (rows,) who sees.
        frame: the rows.
        kept: (rows,) rows that still count.
    """
    start, end = frame["time_flow_start_ns"], frame["time_flow_end_ns"]
    first, last = np.full(int(source.max()) + 1, _NEVER), np.full(int(source.max()) + 1, -_NEVER)
    np.minimum.at(first, source, start)
    np.maximum.at(last, source, end)
    for better in np.unique(rank[kept])[:-1]:
        own = kept & (rank == better)
        begin_ns, end_ns = np.full(int(group.max()) + 1, _NEVER), np.full(int(group.max()) + 1, -_NEVER)
        begin_ns[group[own]], end_ns[group[own]] = first[source[own]], last[source[own]]
        kept = kept & ~((rank > better) & (begin_ns[group] <= end) & (start <= end_ns[group]))
    return kept
