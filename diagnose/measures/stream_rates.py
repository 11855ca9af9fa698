"""Operations -> rates: how fast each stream's bytes arrive while they are under way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Float, Int
from reconstruct.numeric.row_runs import run_starts


@dataclass(frozen=True, slots=True)
class Rates:
    """Rates of streams by iteration. Waiting between messages does not count: only time with bytes under way does.

    Attributes:
        streams, src, dst, role: (s,) stream number, its ends as address codes, its role.
        delivered_bps: (s, iterations) bytes over time from sent to acknowledged; nan where nothing was sent.
        sent_bps: (s, iterations) bytes over time spent sending, as seen beside the sender.
        busy_ns: (s, iterations) time with bytes under way.
        bytes: (s, iterations).
        packets, retransmitted: (s, iterations) all that were counted, and those sent again.
    """

    streams: Int
    src: Int
    dst: Int
    role: Int
    delivered_bps: Float
    sent_bps: Float
    busy_ns: Float
    bytes: Float
    packets: Float
    retransmitted: Float


def rates(operations: Frame, iterations: int) -> Rates:
    """Sum operations by stream and iteration."""
    rows = operations.take((operations["iteration"] >= 0) & (operations["iteration"] < iterations))
    order = np.argsort(rows["stream"], kind="stable")
    begins = np.flatnonzero(run_starts(rows["stream"][order]))
    first, streams = order[begins], rows["stream"][order[begins]]
    which = np.empty(len(rows), np.int64)
    which[order] = np.repeat(np.arange(len(begins)), np.diff(np.append(begins, len(rows))))
    cell = which * iterations + rows["iteration"]

    def total(name: str) -> Float:
        sums = np.bincount(cell, rows[name], len(streams) * iterations).astype(np.float64)
        return sums.reshape(len(streams), iterations)

    volume, busy, sending = total("bytes"), total("busy_ns"), total("sending_ns")
    with np.errstate(divide="ignore", invalid="ignore"):
        delivered, sent = volume * 8e9 / busy, volume * 8e9 / sending
    return Rates(
        streams=streams.astype(np.int64),
        src=rows["endpoint"][first].astype(np.int64),
        dst=rows["peer"][first].astype(np.int64),
        role=rows["role"][first].astype(np.int64),
        delivered_bps=np.where(busy > 0, delivered, np.nan),
        sent_bps=np.where(sending > 0, sent, np.nan),
        busy_ns=busy,
        bytes=volume,
        packets=total("packets"),
        retransmitted=total("retransmitted_packets"),
    )
