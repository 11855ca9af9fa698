"""Transfers: contiguous bursts of bytes from one endpoint to another, one message or one step of a collective each."""

from __future__ import annotations

from datamodel.frame import Column, Schema

TRANSFERS = Schema(
    "transfers",
    (
        Column("src", "i4", "code", "sending endpoint"),
        Column("dst", "i4", "code", "receiving endpoint"),
        Column("stream", "i4", "code", "the connection: its number among the streams"),
        Column("iteration", "i4", "", "the job's iteration it was sent in; -1 after the last complete one"),
        Column("slot", "i4", "", "its place among the stream's transfers of an iteration, in order of time"),
        Column("start_ns", "i8", "ns", "first byte left the sender"),
        Column("end_ns", "i8", "ns", "last byte left the sender"),
        Column("bytes", "i8", "B", "bytes moved, retransmissions left out, scaled by the sampling rate"),
        Column(
            "at_once",
            "i4",
            "",
            "records that begin together with its first one: messages of several GPUs",
            required=False,
            default=1,
        ),
        Column(
            "messages",
            "i4",
            "",
            "messages it is made of: records, of packet trains those under way side by side",
            required=False,
            default=1,
        ),
    ),
)

# Of what packets were counted one by one there is no error.
PAIR_ERRORS = (
    Column("bytes_error", "f8", "B", "standard error of the bytes", False, 0),
    Column("rate_error_bps", "f8", "bit/s", "standard error of the rate", False, 0),
)

PAIRS = Schema(
    "pairs",
    (
        Column("src", "i4", "code", "sending endpoint"),
        Column("dst", "i4", "code", "receiving endpoint"),
        Column("role", "i1", "code", "what the pair carries, an index into ROLES"),
        Column("bytes", "i8", "B", "bytes moved in the window"),
        Column("transfers", "i8", "", "transfers in the window; 0 where the feed does not show them"),
        Column("rate_bps", "f8", "bit/s", "median over transfers of bytes delivered per time; nan where unknown"),
        Column(
            "late_ratio",
            "f8",
            "",
            "median over iterations of delivery time / that of its peers; 1 = like its peers; nan where unknown",
        ),
        *PAIR_ERRORS,
    ),
)

# Nothing is carried this many times as fast as the link is said to be; headers and rounding are far less.
BURST_RATIO = 2.0


def rate_name(rate_bps: float, port_bps: float | None) -> str:
    """`link rate` of bytes over the time they are under way; `burst rate` where no port of that speed carries it.

    Packets that were seen in front of a queue come as fast as the sender gives them, not as the link takes them.
    """
    return "burst rate" if port_bps is not None and rate_bps > BURST_RATIO * port_bps else "link rate"


ROLES = ("other", "dp", "pp", "ep", "cp", "tp")
