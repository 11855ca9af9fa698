"""The kinds of records in a lake: which columns hold text, which say when, and what packed segments are sorted by."""

from __future__ import annotations

from dataclasses import dataclass

from datamodel.frame import Schema
from datamodel.reconstructed.endpoint_rates import ENDPOINT_RATES
from datamodel.reconstructed.timeline import SPANS
from datamodel.service.scan_history import ITERATIONS, PAIR_PROFILES
from datamodel.telemetry.counters import COUNTERS, DROPS
from datamodel.telemetry.flows import FLOWS


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of records.

    Attributes:
        schema: its columns.
        texts: columns whose codes point into the book of texts; text in files.
        start, end: columns that say when; the same one for what has no duration.
        endpoints: columns by which records of some endpoints are selected; none where they have none.
        exporter: column of the exporter's agent address; "" where it has none.
        job: column of the job; "" where it has none.
        order: what packed segments are sorted by, so that what belongs together lies together.
        running: columns whose values are close to those of the row before.
    """

    schema: Schema
    texts: tuple[str, ...]
    start: str
    end: str
    endpoints: tuple[str, ...]
    exporter: str
    job: str
    order: tuple[str, ...]
    running: tuple[str, ...]

    @property
    def selected(self) -> tuple[str, ...]:
        """Columns by which readers select; statistics are worth their time only for these."""
        by = (self.start, self.end, self.exporter, self.job, *self.endpoints)
        return tuple(name for name in dict.fromkeys(by) if name)


_FLOWS = Kind(
    FLOWS,
    ("src_addr", "dst_addr", "sampler_address"),
    "time_flow_start_ns",
    "time_flow_end_ns",
    ("src_addr", "dst_addr"),
    "sampler_address",
    "",
    ("sampler_address", "observation_domain_id", "src_addr", "dst_addr", "src_qp", "dst_qp", "src_port", "dst_port",
     "in_if", "out_if", "time_flow_start_ns", "time_flow_end_ns"),
    ("time_received_ns", "time_flow_start_ns", "time_flow_end_ns", "time_uncertainty_ns", "time_acknowledged_ns",
     "dst_qp", "src_qp", "psn_first", "psn_last"),
)  # fmt: skip
_COUNTERS = Kind(
    COUNTERS,
    ("sampler_address",),
    "time_ns",
    "time_ns",
    (),
    "sampler_address",
    "",
    ("sampler_address", "observation_domain_id", "interface", "priority", "time_ns"),
    ("time_ns", "in_bytes", "out_bytes", "in_packets", "out_packets"),
)
_DROPS = Kind(
    DROPS,
    ("src_addr", "dst_addr", "sampler_address"),
    "time_ns",
    "time_ns",
    ("src_addr", "dst_addr"),
    "sampler_address",
    "",
    ("sampler_address", "in_if", "time_ns"),
    ("time_ns",),
)
_SPANS = Kind(
    SPANS,
    ("job", "endpoint", "peer", "group"),
    "start_ns",
    "end_ns",
    ("endpoint",),
    "",
    "job",
    # By iterations, so that a few row groups hold one of them whole; by endpoints alone they take a seventh less room.
    ("job", "iteration", "endpoint", "start_ns", "end_ns"),
    ("start_ns", "end_ns"),
)
_ITERATIONS = Kind(ITERATIONS, ("job",), "start_ns", "end_ns", (), "", "job", ("job", "index"), ("start_ns", "end_ns"))
_PATTERNS = Kind(
    PAIR_PROFILES,
    ("job", "src", "dst"),
    "start_ns",
    "end_ns",
    ("src", "dst"),
    "",
    "job",
    ("job", "src", "dst", "start_ns"),
    (),
)
_RATES = Kind(
    ENDPOINT_RATES, ("job", "endpoint"), "start_ns", "end_ns", ("endpoint",), "", "job",
    ("job", "start_ns", "pace", "endpoint", "bin"), (),
)  # fmt: skip

KINDS = {kind.schema.name: kind for kind in (_FLOWS, _COUNTERS, _DROPS, _SPANS, _ITERATIONS, _PATTERNS, _RATES)}
