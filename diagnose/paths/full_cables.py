"""Links found to be slow -> whether that is for links that are full.

A slow_uplink finding compares one job's streams. A connection sends as fast as the fullest link on its way allows:
where the cable itself, another one or a NIC carries what it can while connections send, nothing is wrong with the
cable, and leaving it out would make others fuller. Where none of them is full, the cable carries less than it should.
"""

from __future__ import annotations

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Bool, Float, Int
from diagnose.paths.shortest_routes import NONE

# What is under way together fills a cable to this share of its speed, as where collisions are named.
FULL = 0.8
# Of the time in which connections send over a cable, this share is explained where nothing is wrong with it: records
# are means over a message, in which a connection may be held up by one full link and then by another.
HELD_UP = 0.8


def held_up_ratio(
    payloads: Frame, passes: Int, bytes_per_s: Float, cable: int, window_ns: tuple[int, int]
) -> float | None:
    """Share of the time in which connections send over a cable that some link on their way is full; None: none sends.

    Records without duration show no rate, and do not count.

    Args:
        payloads: rows of `PAYLOADS`, connections by their place in `passes`.
        passes: (n, links) cables and NICs that each connection passes, by number; NONE where that is unknown.
        bytes_per_s: of each cable and NIC; 0 where it is unknown.
        cable: number of the cable.
        window_ns: of the finding.
    """
    through: Bool = np.asarray((passes == cable).any(axis=1))
    inside = (payloads["end_ns"] > window_ns[0]) & (payloads["start_ns"] < window_ns[1])
    payloads = payloads.take(inside & (payloads["end_ns"] > payloads["start_ns"]))
    rows = payloads.take(through[payloads["connection"]])
    if not len(rows):
        return None
    took_ns, fullest = rows["end_ns"] - rows["start_ns"], np.zeros(len(rows))
    links = np.setdiff1d(passes[through], [NONE])
    sharing: Bool = np.asarray(np.isin(passes, links).any(axis=1))
    payloads = payloads.take(sharing[payloads["connection"]])
    for link in links[bytes_per_s[links] > 0].tolist():
        member: Bool = np.asarray((passes == link).any(axis=1))
        own = member[rows["connection"]]
        carried = _carried(payloads.take(member[payloads["connection"]]), rows["start_ns"][own], rows["end_ns"][own])
        fullest[own] = np.maximum(fullest[own], carried / (bytes_per_s[link] * took_ns[own] / 1e9))
    return float(took_ns[fullest >= FULL].sum() / took_ns.sum())


def _carried(rows: Frame, begin_ns: Int, end_ns: Int) -> Float:
    """(m,) bytes of some records between two times, each record's spread evenly over its duration."""
    time = np.concatenate([rows["start_ns"], rows["end_ns"]])
    pace = rows["bytes"] / (rows["end_ns"] - rows["start_ns"])
    order = np.argsort(time, kind="stable")
    time, pace = time[order], np.cumsum(np.concatenate([pace, -pace])[order])
    total = np.append(0.0, np.cumsum(np.diff(time) * pace[:-1]))
    return np.asarray(np.interp(end_ns, time, total) - np.interp(begin_ns, time, total), np.float64)
