"""Trains: packets that follow one another evenly, which is what bursts and the answers to them look like on a port."""

from __future__ import annotations

import numpy as np

from capture.packets.roce import AETH_BYTES, RETH_BYTES
from datamodel.frame import Column, Frame, Schema, concat
from datamodel.reconstructed.streams import Int
from datamodel.telemetry.flows import UDP
from simulate.telemetry import (
    CLEAR_AHEAD_NS,
    CLEAR_TO_SEND_BYTES,
    CNP_REST_BYTES,
    PACKETS_PER_ACK,
    ROCE_HEADER_BYTES,
    TCP_HEADER_BYTES,
)

# What the packets of a train are.
DATA, CLEAR, ACKNOWLEDGE, REFUSE, NOTIFY = range(5)

TRAINS = Schema(
    "trains",
    (
        Column("burst", "i8", "", "row of the burst they belong to"),
        Column("kind", "i1", "code", "DATA, CLEAR (clear-to-send), ACKNOWLEDGE, REFUSE (NAK) or NOTIFY (CNP)"),
        Column("start_ns", "i8", "ns", "the first leaves its sender, UTC"),
        Column("end_ns", "i8", "ns", "the last has left"),
        Column("first", "i8", "", "number of the first among those of its kind and burst"),
        Column("packets", "i8", "", "how many"),
        Column("bytes", "i8", "B", "of all IP packets"),
    ),
)


def trains(bursts: Frame, notified: Int, *, answers: bool) -> Frame:
    """All trains of some bursts.

    Args:
        bursts: rows of `BURSTS`.
        notified: (n,) congestion notifications that each provokes.
        answers: with what flows back.
    """
    parts = [_data(bursts)]
    if answers:
        parts += _answers(bursts, notified)
    return concat(TRAINS, [part.take(part["packets"] > 0) for part in parts])


def _data(b: Frame) -> Frame:
    """Data, one train a burst; two where it stood still for a while."""
    roce = b["proto"] == UDP
    sent = b["packets"] + b["retransmitted_packets"]
    header = np.where(roce, ROCE_HEADER_BYTES, TCP_HEADER_BYTES)
    again = b["retransmitted_packets"] * (b["bytes"] // np.maximum(b["packets"], 1))
    volume = b["bytes"] + again + sent * header + b["messages"] * RETH_BYTES
    rests = b["resumed_ns"] > b["paused_ns"]
    busy = np.maximum(b["end_ns"] - b["start_ns"] - np.where(rests, b["resumed_ns"] - b["paused_ns"], 0), 1)
    before = np.where(rests, sent * (b["paused_ns"] - b["start_ns"]) // busy, sent)
    stop = np.where(rests, b["paused_ns"], b["end_ns"])
    rows = np.arange(len(b))
    early = _train(rows, DATA, b["start_ns"], stop, before, volume * before // np.maximum(sent, 1))
    late = np.flatnonzero(rests)
    rest = (sent - before)[late]
    left = volume[late] - early["bytes"][late]
    return concat(
        TRAINS, [early, _train(late, DATA, b["resumed_ns"][late], b["end_ns"][late], rest, left, before[late])]
    )


def acknowledgements(b: Frame) -> Int:
    """(n,) how many acknowledgements each burst gets: one a message, and one every so many packets that arrive."""
    arrived = (b["packets"] > 0) & (b["delivered_ns"] > 0)
    return np.where(arrived, np.maximum(np.maximum(b["messages"], -(-b["packets"] // PACKETS_PER_ACK)), 1), 0)


def _answers(b: Frame, notified: Int) -> list[Frame]:
    """What a receiver sends: clear-to-send, acknowledgements, refusals of what came out of order, and notifications."""
    roce = b["proto"] == UDP
    rows = np.arange(len(b))
    delay = b["delivered_ns"] - b["end_ns"]
    begin = np.minimum(b["start_ns"] + 2 * delay, b["delivered_ns"])
    acks = acknowledgements(b)
    ack_bytes = np.where(roce, ROCE_HEADER_BYTES + AETH_BYTES, TCP_HEADER_BYTES)
    refused = np.where(roce, b["retransmitted_packets"], 0)
    asked = b["ready_ns"] - CLEAR_AHEAD_NS
    clear_bytes = ROCE_HEADER_BYTES + RETH_BYTES + CLEAR_TO_SEND_BYTES
    until = b["delivered_ns"]
    return [
        _train(rows, CLEAR, asked, asked, roce.astype(np.int64), np.where(roce, clear_bytes, 0)),
        _train(rows, ACKNOWLEDGE, begin, until, acks, acks * ack_bytes),
        _train(rows, REFUSE, begin, until, refused, refused * (ROCE_HEADER_BYTES + AETH_BYTES)),
        _train(rows, NOTIFY, begin, until, notified, notified * (ROCE_HEADER_BYTES + CNP_REST_BYTES)),
    ]


def _train(
    burst: Int, kind: int, start_ns: Int, end_ns: Int, packets: Int, size_bytes: Int, first: Int | None = None
) -> Frame:
    return Frame(
        TRAINS,
        {
            "burst": burst,
            "kind": np.full(len(burst), kind),
            "start_ns": start_ns,
            "end_ns": end_ns,
            "first": np.zeros(len(burst), np.int64) if first is None else first,
            "packets": packets,
            "bytes": size_bytes,
        },
    )
