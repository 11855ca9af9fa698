"""True paths: the spine that each queue pair's packets crossed, and what it carried; loads of cables are their sums."""

from __future__ import annotations

import numpy as np

from datamodel.frame import Column, Frame, Schema
from simulate.network.fabric import NONE

TRUE_PATHS = Schema(
    "true_paths",
    (
        Column("job", "i4", "code", "the job"),
        Column("src_addr", "i4", "code", "sender"),
        Column("dst_addr", "i4", "code", "receiver"),
        Column("src_port", "u2", "", "UDP source port"),
        Column("dst_qp", "i8", "", "receiver's queue pair"),
        Column("leaf", "i4", "", "number of the sender's leaf"),
        Column("out_if", "i4", "", "interface by which its packets leave that leaf"),
        Column("spine", "i2", "", "number of the spine"),
        Column("dst_leaf", "i4", "", "number of the receiver's leaf"),
        Column("bytes", "i8", "B", "payload, each byte once"),
    ),
)
_KEYS = ("job", "src_address", "dst_address", "src_port", "dst_qp", "spine")


def true_paths(bursts: Frame, leaf_of_address: np.ndarray, spine_port: int) -> Frame:
    """Rows of jobs' queue pairs that cross a spine; one that was moved has a row for each.

    Args:
        bursts: rows of `simulate.bursts.BURSTS`.
        leaf_of_address: (addresses,) leaf number by address code.
        spine_port: a leaf's interface to the first spine.
    """
    rows = bursts.take((bursts["spine"] != NONE) & (bursts["job"] != NONE) & (bursts["bytes"] > 0))
    keys, which = np.unique(np.stack([rows[name].astype(np.int64) for name in _KEYS]), axis=1, return_inverse=True)
    job, src, dst, port, pair, spine = keys
    return Frame(
        TRUE_PATHS,
        {
            "job": job,
            "src_addr": src,
            "dst_addr": dst,
            "src_port": port,
            "dst_qp": pair,
            "leaf": leaf_of_address[src],
            "out_if": spine_port + spine,
            "spine": spine,
            "dst_leaf": leaf_of_address[dst],
            "bytes": np.bincount(which.ravel(), rows["bytes"], keys.shape[1]).astype(np.int64),
        },
    )
