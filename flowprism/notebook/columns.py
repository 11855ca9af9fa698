"""The columns of every data frame, with dtype, unit and meaning: docs/notebooks.md lists the same, held by a test."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

# pandas' name of each dtype, and the Arrow type that it is made of. `Int64` has room for unknown values.
TYPES = {
    "str": pa.string(),
    "category": pa.dictionary(pa.int32(), pa.string()),
    "int64": pa.int64(),
    "Int64": pa.int64(),
    "float64": pa.float64(),
    "datetime64[ns, UTC]": pa.timestamp("ns", "UTC"),
}
_TIME = "datetime64[ns, UTC]"


@dataclass(frozen=True, slots=True)
class FrameColumn:
    """One column: its name, pandas' dtype, its unit ("" where it has none), what it means."""

    name: str
    dtype: str
    unit: str
    meaning: str


@dataclass(frozen=True, slots=True)
class FrameColumns:
    """The columns of one data frame, in order, and the name under which an analysis gives it."""

    name: str
    columns: tuple[FrameColumn, ...]

    @property
    def schema(self) -> pa.Schema:
        """The same as an Arrow schema."""
        return pa.schema([(column.name, TYPES[column.dtype]) for column in self.columns])


_JOB = FrameColumn("job", "category", "", "the job's id")
_START = FrameColumn("start", _TIME, "", "begin, UTC")
_FINDING = FrameColumn("finding", "str", "", "id of the finding")

JOBS = FrameColumns(
    "jobs",
    (
        FrameColumn("job", "str", "", "the job's id"),
        FrameColumn("label", "str", "", "its name in the inventory; null where it has none"),
        FrameColumn("tenant", "str", "", "its tenant in the inventory; null where it has none"),
        FrameColumn("endpoints", "int64", "", "how many endpoints train together"),
        FrameColumn("hosts", "int64", "", "on how many hosts, as far as the inventory names them"),
        FrameColumn("world_size", "Int64", "", "GPUs, those not seen on the fabric included; null where unknown"),
        FrameColumn("tp", "Int64", "", "size of tensor parallelism; null where unknown"),
        FrameColumn("cp", "Int64", "", "size of context parallelism; null where unknown"),
        FrameColumn("ep", "Int64", "", "size of expert parallelism; null where unknown"),
        FrameColumn("dp", "Int64", "", "size of data parallelism; null where unknown"),
        FrameColumn("pp", "Int64", "", "size of pipeline parallelism; null where unknown"),
        FrameColumn("sharding", "category", "", "none, zero or fsdp; null where unknown"),
        FrameColumn("layout_confidence_ratio", "float64", "", "probability that all sizes given are right, 0 to 1"),
        FrameColumn("iteration_time_s", "float64", "s", "of a usual iteration; nan where there is none"),
        FrameColumn(
            "smallest_slowdown_ratio",
            "float64",
            "",
            "smallest slowdown that the feed would show; nan where it shows none",
        ),
        FrameColumn("weight_sync_s", "float64", "s", "median time that new weights take to engines; nan without them"),
        FrameColumn("rollout_gap_s", "float64", "s", "from there until ranks exchange data again; nan where unknown"),
    ),
)

ITERATIONS = FrameColumns(
    "iterations",
    (
        _JOB,
        FrameColumn("iteration", "int64", "", "counted on since the job was first seen"),
        FrameColumn("start", _TIME, "", "the first rank's start, UTC"),
        FrameColumn("end", _TIME, "", "the last rank's end, UTC"),
        FrameColumn("duration_s", "float64", "s", "from start to end"),
        FrameColumn(
            "duration_error_s", "float64", "s", "standard error of the time since the end before; nan where unknown"
        ),
    ),
)

TIMELINE = FrameColumns(
    "timeline",
    (
        FrameColumn("endpoint", "category", "", "address of the endpoint"),
        FrameColumn("iteration", "Int64", "", "null outside any"),
        FrameColumn("span", "category", "", "compute, pp_send, pp_recv, dp_comm, ep_comm, cp_comm, wait or idle"),
        _START,
        FrameColumn("end", _TIME, "", "end, UTC"),
        FrameColumn("duration_s", "float64", "s", "from start to end"),
        FrameColumn("peer", "category", "", "the other endpoint of a transfer, or the one waited for; null for none"),
        FrameColumn("bytes", "int64", "B", "moved in the span"),
        FrameColumn("group", "category", "", "the process group; null for none"),
    ),
)

PAIRS = FrameColumns(
    "pairs",
    (
        FrameColumn("src", "category", "", "address of the sender"),
        FrameColumn("dst", "category", "", "address of the receiver"),
        FrameColumn("role", "category", "", "dp, pp, ep, cp, tp or other"),
        FrameColumn("bytes", "int64", "B", "moved in the window"),
        FrameColumn("transfers", "Int64", "", "in the window; null where the feed does not show them"),
        FrameColumn("rate_bps", "float64", "bit/s", "median over transfers; nan where unknown"),
        FrameColumn("late_ratio", "float64", "", "delivery time / that of its peers; 1: like them; nan where unknown"),
        FrameColumn("bytes_error", "float64", "B", "standard error of bytes; 0 of what was counted whole"),
        FrameColumn("rate_error_bps", "float64", "bit/s", "standard error of rate_bps; nan where unknown"),
    ),
)

FINDINGS = FrameColumns(
    "findings",
    (
        _FINDING,
        _JOB,
        FrameColumn("kind", "category", "", "straggler, slow_link, ... (docs/diagnosis.md)"),
        FrameColumn("cause", "category", "", "refines the kind; null where the evidence does not"),
        FrameColumn("severity", "category", "", "info, warning or critical"),
        _START,
        FrameColumn("end", _TIME, "", "end, UTC; null while it is still on"),
        FrameColumn("confidence_ratio", "float64", "", "how sure, 0 to 1"),
        FrameColumn("slowdown_ratio", "float64", "", "iteration time now / what it would be without the cause"),
        FrameColumn("subject_type", "category", "", "endpoint, host, link, switch, group or job"),
        FrameColumn("subject", "str", "", "ids of the subject, with a space between them"),
        FrameColumn("summary", "str", "", "one sentence for the person on call"),
        FrameColumn("action", "str", "", "what to do next"),
    ),
)

SUSPECTS = FrameColumns(
    "suspects",
    (
        _FINDING,
        FrameColumn("type", "category", "", "endpoint, host, link, switch, group or job"),
        FrameColumn("subject", "str", "", "its ids, with a space between them"),
        FrameColumn("probability_ratio", "float64", "", "that it is the cause, 0 to 1"),
    ),
)

EVIDENCE = FrameColumns(
    "evidence",
    (
        _FINDING,
        FrameColumn("metric", "category", "", "what was measured"),
        FrameColumn("value", "float64", "", "measured, in the row's unit"),
        FrameColumn("baseline", "float64", "", "what it was compared with, in the row's unit"),
        FrameColumn("unit", "category", "", "of value and baseline"),
        FrameColumn("where", "str", "", "endpoints, pairs or links that were measured"),
        FrameColumn("start", _TIME, "", "begin of the measurement, UTC"),
        FrameColumn("end", _TIME, "", "end of the measurement, UTC"),
    ),
)

FEEDS = FrameColumns(
    "feeds",
    (
        FrameColumn(
            "exporter", "str", "", "agent address / observation domain; the address alone of flow-record files"
        ),
        FrameColumn("datagrams", "Int64", "", "received; null where the input has no datagrams"),
        FrameColumn("records", "Int64", "", "flow samples or flow records; null where not counted by exporter"),
        FrameColumn("lost", "Int64", "", "datagrams or records missing by their sequence numbers"),
        FrameColumn("late", "Int64", "", "datagrams that came after later ones"),
        FrameColumn("duplicates", "Int64", "", "datagrams that had come before"),
        FrameColumn("rejected", "Int64", "", "datagrams, samples, sets or records left out"),
        FrameColumn("sampling_rate", "Int64", "", "largest N of 1 in N of its records; null where unknown"),
        FrameColumn("clock_offset_s", "float64", "s", "how far its clock is ahead; nan where unknown"),
        FrameColumn("clock_drift_ppm", "float64", "ppm", "by which it runs faster; nan where unknown"),
        FrameColumn("clock_error_s", "float64", "s", "standard error of the offset; nan where unknown"),
    ),
)

TRAFFIC = FrameColumns(
    "traffic",
    (
        FrameColumn("endpoint", "category", "", "address of the endpoint"),
        FrameColumn("minute", _TIME, "", "begin of the minute, UTC"),
        FrameColumn("traffic_class", "category", "", "what it is for (docs/traffic.md)"),
        FrameColumn("sent_bytes", "int64", "B", "new payload that it sent, scaled by the sampling rate"),
        FrameColumn("received_bytes", "int64", "B", "new payload that was sent to it"),
    ),
)

SERVING = FrameColumns(
    "serving",
    (
        FrameColumn("src", "category", "", "address of the sender"),
        FrameColumn("dst", "category", "", "address of the receiver"),
        FrameColumn("bytes", "int64", "B", "new payload"),
        FrameColumn("transfers", "int64", "", "records of it; 0 where records are samples"),
        FrameColumn("goodput_bps", "float64", "bit/s", "payload over the time of its transfers; nan where unknown"),
    ),
)

FRAMES = (JOBS, ITERATIONS, TIMELINE, PAIRS, FINDINGS, SUSPECTS, EVIDENCE, FEEDS, TRAFFIC, SERVING)
