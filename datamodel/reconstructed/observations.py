"""Observations: what is known of how far a connection had got at one instant, whatever feed it comes from."""

from __future__ import annotations

from datamodel.frame import Column, Schema

KINDS = ("first packet", "last packet", "count")

OBSERVATIONS = Schema(
    "observations",
    (
        Column("stream", "i4", "code", "the connection: its number among the streams"),
        Column("time_ns", "i8", "ns", "when, by the observer's clock, corrected where its offset is known"),
        Column("time_error_ns", "i8", "ns", "the true time is at most so far from `time_ns`"),
        Column("bytes_low", "i8", "B", "the connection had sent at least so much by then, since its first record"),
        Column("bytes_high", "i8", "B", "and at most so much"),
        Column("kind", "i1", "code", "what was observed, an index into KINDS: a packet, or no more than a count"),
        Column("observer", "i4", "code", "observer; -1 unknown", required=False, default=-1),
    ),
)
