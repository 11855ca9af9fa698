"""What scans leave behind for later ones, one row each: iterations of jobs, and how each pair of a job behaves."""

from __future__ import annotations

from datamodel.frame import Column, Schema
from datamodel.reconstructed.transfers import PAIR_ERRORS

ITERATIONS = Schema(
    "iterations",
    (
        Column("job", "i4", "code", "whose iteration"),
        Column("index", "i8", "", "counted on since the job was first seen"),
        Column("start_ns", "i8", "ns", "the first rank's start, UTC"),
        Column("end_ns", "i8", "ns", "the last rank's end, UTC"),
        Column(
            "duration_error_ns",
            "i8",
            "ns",
            "standard error of the time from the end before to this one; -1 where it is not known",
            required=False,
            default=-1,
        ),
    ),
)

PAIR_PROFILES = Schema(
    "patterns",
    (
        Column("job", "i4", "code", "whose pair"),
        Column("src", "i4", "code", "sending endpoint"),
        Column("dst", "i4", "code", "receiving endpoint"),
        Column("role", "i1", "code", "what the pair carries, an index into ROLES"),
        Column("start_ns", "i8", "ns", "begin of the window, UTC"),
        Column("end_ns", "i8", "ns", "end of the window, UTC"),
        Column("bytes", "i8", "B", "bytes moved in the window"),
        Column("transfers", "i8", "", "transfers in the window; 0 where the feed does not show them"),
        Column("rate_bps", "f8", "bit/s", "median over transfers of bytes delivered per time; nan where unknown"),
        Column("late_ratio", "f8", "", "median of delivery time / that of its peers; 1 = like its peers"),
        *PAIR_ERRORS,
    ),
)
