"""Operations -> who sends to whom: volume, rate and lateness of each directed pair."""

from __future__ import annotations

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Float, Int
from datamodel.reconstructed.transfers import PAIRS
from diagnose.job_view import JobView
from diagnose.measures.stream_rates import rates
from reconstruct.numeric.factorize import factorize_rows


def pair_table(job: JobView) -> Frame:
    """One row a directed pair and role, by source, destination and role (`datamodel.reconstructed.transfers.PAIRS`)."""
    rows = job.operations.take((job.operations["iteration"] >= 0) & (job.operations["iteration"] < job.iterations))
    names = [rows[name] for name in ("endpoint", "peer", "role")]
    first, which = factorize_rows(*names)
    unique = np.stack([name[first] for name in names], axis=1).astype(np.int64)
    speed = rates(job.operations, job.iterations)
    rate = _median_by(speed.delivered_bps, np.stack([speed.src, speed.dst, speed.role], axis=1), unique)
    late = np.full(len(unique), np.nan)
    for role in np.unique(unique[:, 2]):
        same = unique[:, 2] == role
        if np.isfinite(rate[same]).any():
            late[same] = np.nanmedian(rate[same]) / rate[same]
    return Frame(
        PAIRS,
        {
            "src": unique[:, 0],
            "dst": unique[:, 1],
            "role": unique[:, 2],
            "bytes": np.bincount(which, rows["bytes"], len(unique)).astype(np.int64),
            "transfers": np.bincount(which, minlength=len(unique)),
            "rate_bps": rate,
            "late_ratio": late,
        },
    )


def _median_by(values: Float, keys: Int, unique: Int) -> Float:
    """Median over streams and iterations of each key's values; nan where there are none.

    Args:
        values: (s, iterations).
        keys: (s, k) key of each row.
        unique: (u, k) keys to answer for, all of them among `keys` or without values.
    """
    rows: dict[tuple[int, ...], list[int]] = {}
    for row, key in enumerate(keys.tolist()):
        rows.setdefault(tuple(key), []).append(row)
    out = np.full(len(unique), np.nan)
    for n, key in enumerate(unique.tolist()):
        own = values[rows.get(tuple(key), [])]
        if np.isfinite(own).any():
            out[n] = float(np.nanmedian(own))
    return out
