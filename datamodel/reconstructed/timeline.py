"""Timelines: what each endpoint did when, as the network shows it."""

from __future__ import annotations

from dataclasses import dataclass

from datamodel.frame import Column, Frame, Schema

SPAN_NAMES = ("compute", "pp_send", "pp_recv", "dp_comm", "ep_comm", "cp_comm", "wait", "idle")

SPANS = Schema(
    "spans",
    (
        Column("job", "i4", "code", "index into the timelines' jobs"),
        Column("endpoint", "i4", "code", "whose timeline"),
        Column("iteration", "i4", "", "training step; -1 outside any"),
        Column("span", "i1", "code", "what, an index into SPAN_NAMES"),
        Column("start_ns", "i8", "ns", "begin, UTC"),
        Column("end_ns", "i8", "ns", "end, UTC"),
        Column("peer", "i4", "code", "the other endpoint of a transfer or wait; -1 none", False, -1),
        Column("bytes", "i8", "B", "bytes moved in the span", False, 0),
        Column("group", "i4", "code", "index into the timelines' groups; -1 none", False, -1),
    ),
)


@dataclass(frozen=True, slots=True)
class Timelines:
    """Spans of all jobs, with what their codes mean."""

    spans: Frame
    addresses: tuple[str, ...]
    jobs: tuple[str, ...]
    groups: tuple[str, ...]  # e.g. "dp 10.1.1.1,10.1.1.2"
