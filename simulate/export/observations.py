"""Which switch sees which train on which of its ports."""

from __future__ import annotations

import numpy as np

from datamodel.frame import Column, Frame, Schema, concat
from datamodel.reconstructed.streams import Int
from datamodel.telemetry.flows import UDP
from simulate.export.feed_spec import POINTS, Point
from simulate.export.trains import DATA
from simulate.network.fabric import NONE, SPINE_PORT, Fabric

TRAIN_OBSERVATIONS = Schema(
    "train_observations",
    (
        Column("train", "i8", "", "row of the train"),
        Column("point", "i1", "code", "index into simulate.export.feed_spec.POINTS"),
        Column("switch", "i4", "code", "the observing switch: leaves by number, then spines"),
        Column("in_if", "i4", "", "interface that it enters by"),
        Column("out_if", "i4", "", "interface that it leaves by"),
        Column("start_ns", "i8", "ns", "its first packet is seen, UTC"),
        Column("end_ns", "i8", "ns", "its last has been seen"),
    ),
)
_EIGHTHS = {"source": 1, "spine": 3, "destination": 5, "delivery": 7}  # of the latency, until a packet is there


def ends(bursts: Frame, trains: Frame) -> tuple[Int, Int]:
    """(n,) endpoint that sends and that receives each train: answers go back."""
    burst, data = trains["burst"], trains["kind"] == DATA
    src, dst = bursts["src"][burst].astype(np.int64), bursts["dst"][burst].astype(np.int64)
    return np.where(data, src, dst), np.where(data, dst, src)


def spines(fabric: Fabric, bursts: Frame, trains: Frame) -> Int:
    """(n,) spine that each train crosses, NONE inside a leaf; answers have a hash of their own."""
    burst = trains["burst"]
    src, dst = ends(bursts, trains)
    spine = bursts["spine"][burst].astype(np.int64)
    roce = bursts["proto"][burst] == UDP
    port = np.where(roce, bursts["src_port"][burst], bursts["dst_port"][burst]).astype(np.int64)
    crosses = fabric.leaf_of_nic(src) != fabric.leaf_of_nic(dst)
    back = np.where(crosses, fabric.spine(src, dst, port), NONE)
    return np.where(trains["kind"] == DATA, spine, back)


def observe_trains(fabric: Fabric, bursts: Frame, trains: Frame, points: tuple[Point, ...]) -> Frame:
    """Every train at every point that it passes."""
    src, dst = ends(bursts, trains)
    spine = spines(fabric, bursts, trains)
    return concat(TRAIN_OBSERVATIONS, [_at(fabric, trains, (src, dst, spine), point) for point in points])


def _at(fabric: Fabric, trains: Frame, route: tuple[Int, Int, Int], point: Point) -> Frame:
    src, dst, spine = route
    leaf, other = fabric.leaf_of_nic(src), fabric.leaf_of_nic(dst)
    crosses = spine != NONE
    out = np.where(crosses, SPINE_PORT + spine, fabric.leaf_port(dst))
    into = np.where(crosses, SPINE_PORT + spine, fabric.leaf_port(src))
    seen = {
        "source": (leaf, fabric.leaf_port(src), out),
        "spine": (fabric.leaves + spine, 1 + leaf, 1 + other),
        "destination": (other, into, fabric.leaf_port(dst)),
        "delivery": (other, into, fabric.leaf_port(dst)),
    }[point]
    passes = np.ones(len(src), np.bool_) if point in {"source", "delivery"} else crosses
    rows = np.flatnonzero(passes)
    delay = int(fabric.latency_ns) * _EIGHTHS[point] // 8
    return Frame(
        TRAIN_OBSERVATIONS,
        {
            "train": rows,
            "point": np.full(len(rows), POINTS.index(point)),
            "switch": seen[0][rows],
            "in_if": seen[1][rows],
            "out_if": seen[2][rows],
            "start_ns": trains["start_ns"][rows] + delay,
            "end_ns": np.maximum(trains["end_ns"], trains["start_ns"] + 1)[rows] + delay,
        },
    )


def data_source(seen: Frame) -> Int:
    """(n,) interface that samples each observation: the input, or the output where packets are delivered."""
    return np.where(seen["point"] == POINTS.index("delivery"), seen["out_if"], seen["in_if"]).astype(np.int64)
