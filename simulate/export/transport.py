"""Datagrams on their way to the collector: they take a moment, get lost, come late or twice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from datamodel.reconstructed.streams import Bool, Int
from simulate.export.feed_spec import Transport

Bytes = npt.NDArray[np.uint8]
_LATENCY_NS, _JITTER_NS = 50_000, 20_000


@dataclass(frozen=True, slots=True)
class Sent:
    """Datagrams as they were sent.

    Attributes:
        data: their payloads, one behind the other.
        size_bytes, switch, sent_ns: (n,) of each; true UTC.
        items: (n,) samples or records in each.
    """

    data: Bytes
    size_bytes: Int
    switch: Int
    sent_ns: Int
    items: Int


@dataclass(frozen=True, slots=True)
class Arrived:
    """What reached the collector, in order of arrival.

    Attributes:
        which: (n,) row of the datagram; twice where it came twice.
        time_ns: (n,) when, true UTC.
        counts: what became of each switch's datagrams.
    """

    which: Int
    time_ns: Int
    counts: dict[int, dict[str, int]]


def carried(sent: Sent, alive: Bool, transport: Transport, random: np.random.Generator) -> Arrived:
    """Datagrams that arrive. One exporter's keep their order unless they are late.

    Args:
        sent: what was to be sent.
        alive: (n,) its sender still was; the others never leave it.
        transport: what happens on the way.
        random: what draws.
    """
    count = len(sent.size_bytes)
    travel = _LATENCY_NS + random.exponential(_JITTER_NS, count).astype(np.int64)
    time = _in_order(sent.switch, sent.sent_ns + travel)
    lost = (random.random(count) < transport.lost_ratio) & alive
    late = (random.random(count) < transport.late_ratio) & alive & ~lost
    time = time + np.where(late, (random.random(count) * transport.late_ms * 1e6).astype(np.int64), 0)
    doubled = (random.random(count) < transport.doubled_ratio) & alive & ~lost
    again = np.flatnonzero(doubled)
    there = np.flatnonzero(alive & ~lost)
    which = np.concatenate([there, again])
    arrival = np.concatenate([time[there], time[again] + 1 + random.integers(0, 1_000_000, len(again))])
    order = np.lexsort([which, arrival])
    counts = {
        int(n): {
            "datagrams": int((mine := (sent.switch == n) & alive).sum()),
            "items": int(sent.items[mine].sum()),
            "lost_datagrams": int((lost & mine).sum()),
            "lost_items": int(sent.items[lost & mine].sum()),
            "late_datagrams": int((late & mine).sum()),
            "doubled_datagrams": int((doubled & mine).sum()),
        }
        for n in np.unique(sent.switch)
    }
    return Arrived(which[order], arrival[order], counts)


def _in_order(switch: Int, time_ns: Int) -> Int:
    """Times at which datagrams of a switch, given in the order they were sent, do not overtake one another."""
    out = time_ns.copy()
    for n in np.unique(switch):
        mine = np.flatnonzero(switch == n)
        out[mine] = np.maximum.accumulate(time_ns[mine])
    return out
