"""What all traffic of a simulation was for: bytes of each endpoint and class, and when weights moved."""

from __future__ import annotations

import numpy as np

from datamodel.durations import MINUTE_NS
from datamodel.frame import Frame
from datamodel.reconstructed.streams import Int
from datamodel.reconstructed.traffic import (
    MANAGEMENT,
    ROLLOUT,
    SERVING,
    STORAGE,
    TRAFFIC,
    TRAINING,
    UNKNOWN,
    WEIGHT_SYNC,
)
from simulate.network import graph

_CLASS = {
    graph.CHECKPOINT: STORAGE,
    graph.DATA: STORAGE,
    graph.OTHER: UNKNOWN,
    graph.SERVING: SERVING,
    graph.ROLLOUT: ROLLOUT,
    graph.WEIGHT_SYNC: WEIGHT_SYNC,
    graph.MANAGEMENT: MANAGEMENT,
}


def true_traffic(bursts: Frame) -> Frame:
    """Rows of `TRAFFIC` by endpoint, minute and class; endpoints are numbers of the fabric.

    Each burst counts to the minute in which it begins.
    """
    kind = np.array([_CLASS.get(n, TRAINING) for n in range(len(graph.PURPOSES))])[bursts["purpose"]]
    minute, volume, nothing = bursts["start_ns"] // MINUTE_NS, bursts["bytes"], np.zeros(len(bursts), np.int64)
    end = np.concatenate([bursts["src"], bursts["dst"]]).astype(np.int64)
    cell, of = np.unique(np.stack([end, np.tile(minute, 2), np.tile(kind, 2)]), axis=1, return_inverse=True)
    sent, received = (np.zeros(cell.shape[1], np.int64) for _ in range(2))
    np.add.at(sent, of, np.concatenate([volume, nothing]))
    np.add.at(received, of, np.concatenate([nothing, volume]))
    return Frame(
        TRAFFIC,
        {
            "endpoint": cell[0],
            "minute_ns": cell[1] * MINUTE_NS,
            "traffic_class": cell[2],
            "sent_bytes": sent,
            "received_bytes": received,
        },
    )


def weight_syncs_ns(bursts: Frame, job: int) -> Int:
    """(n, 2) first and last byte of each synchronization of a job's weights, one an iteration at most."""
    own = bursts.take((bursts["job"] == job) & (bursts["purpose"] == graph.WEIGHT_SYNC) & (bursts["bytes"] > 0))
    each = [own.take(own["iteration"] == n) for n in np.unique(own["iteration"])]
    return np.array([[one["start_ns"].min(), one["end_ns"].max()] for one in each], np.int64).reshape(-1, 2)
