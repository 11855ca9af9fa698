"""The timelines as a Perfetto trace: native protobuf TrackEvents, written packet by packet.

A process track a job; below it a track of iterations, of findings and of events, a counter of the iteration time, and
a track an endpoint, in the order of all pictures. Slices of one track never overlap (the trace format asks for it: the
end of a slice closes the youngest open one); concurrent network activity has sub-tracks of its own, one or
several a kind. Profiles of ranks are below their endpoints, or processes where these are not known.

Timestamps count from the beginning of the window on Perfetto's default trace clock; a clock snapshot says which UTC
time that is, so that the viewer can show either. See https://perfetto.dev/docs/concepts/clock-sync and
https://perfetto.dev/docs/reference/synthetic-track-event.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import InternedData, TrackEvent

from datamodel.frame import Frame
from datamodel.reconstructed.timeline import SPAN_NAMES, Timelines
from datamodel.reports.analysis import Analysis
from datamodel.reports.layout import GROUP_KINDS
from datamodel.reports.report import JobReport
from flowprism.rendering import phrases
from flowprism.rendering.endpoint_order import Position, positions
from flowprism.rendering.facts import by_severity, iteration_seconds
from flowprism.rendering.formats.perfetto_packets import PacketWriter
from flowprism.rendering.formats.perfetto_profiles import ProfileTracks, draw_profile
from flowprism.rendering.lanes import Times, assign_lanes
from flowprism.rendering.names import Names
from flowprism.rendering.units import significant

# The lanes of an endpoint, each with the spans that lie on it. The first is the endpoint's own track.
LANES = (
    ("", ("compute", "wait", "idle")),
    ("pp send", ("pp_send",)),
    ("pp recv", ("pp_recv",)),
    ("dp", ("dp_comm",)),
    ("ep", ("ep_comm",)),
    ("cp", ("cp_comm",)),
)

_ANNOTATIONS = ("iteration", "peer", "bytes", "group")


def write_trace(analysis: Analysis, names: Names, path: Path, profiles: Sequence[ProfileTracks] = ()) -> None:
    """Write all spans, iterations, findings and events of an analysis to `path`, and profiles of the same time."""
    with path.open("wb") as file:
        packets = PacketWriter(file, min(_starts(analysis, profiles)))  # trace timestamps are unsigned
        _TraceWriter(analysis, names, packets, profiles).write()


def _starts(analysis: Analysis, profiles: Sequence[ProfileTracks]) -> Iterator[int]:
    yield analysis.report.window.start_ns
    if len(analysis.timelines.spans):
        yield int(analysis.timelines.spans["start_ns"].min())
    yield from (i.start_ns for job in analysis.report.jobs for i in job.iterations[:1])
    yield from (one.span_ns[0] for one in profiles)


class _TraceWriter:
    """What an analysis becomes in a trace, track after track."""

    def __init__(
        self, analysis: Analysis, names: Names, packets: PacketWriter, profiles: Sequence[ProfileTracks]
    ) -> None:
        self._report = analysis.report
        self._timelines = analysis.timelines
        self._names = names
        self._packets = packets
        self._profiles = list(profiles)

    def write(self) -> None:
        """Write the preamble, then job after job, and the profiles that stand below none of their endpoints."""
        self._preamble()
        for rank, job in enumerate(self._report.jobs):
            self._job(rank, job)
        for number, one in enumerate(self._profiles, len(self._report.jobs) + 1):
            draw_profile(self._packets, self._packets.process(number, one.title, one.description), one)

    def _preamble(self) -> None:
        """Every text said more than once, by number."""
        interned = InternedData()
        for iid, name in enumerate(_ANNOTATIONS, 1):
            interned.debug_annotation_names.add(iid=iid, name=name)
        for iid, text in enumerate(self._texts(), 1):
            interned.debug_annotation_string_values.add(iid=iid, str=text.encode())
        self._packets.begin(SPAN_NAMES, interned)

    def _texts(self) -> Iterable[str]:
        """Peers, then groups: the texts that annotations point to."""
        yield from (self._names.full(address) for address in self._timelines.addresses)
        yield from self._timelines.groups

    def _job(self, rank: int, job: JobReport) -> None:
        name = f"job {phrases.title(job)} · {phrases.sizes(job.layout)}"
        process = self._packets.process(rank + 1, name, _about(job))
        self._iterations(process, job)
        self._happenings(process, job)
        spans = _of_job(self._timelines, job.id)
        codes = {address: code for code, address in enumerate(self._timelines.addresses)}
        endpoint = spans["endpoint"]
        placed = positions(job)
        width = len(str(len(placed)))
        for position in placed:
            own = spans.take(endpoint == codes.get(position.address, -1))
            self._endpoint(process, position, f"{position.number:0{width}d}", own)

    def _iterations(self, parent: int, job: JobReport) -> None:
        """The iterations as slices and their time as a counter; neighbours overlap, so slices take turns."""
        starts = np.array([i.start_ns for i in job.iterations], np.int64)
        ends = np.array([i.end_ns for i in job.iterations], np.int64)
        labels = [f"iteration {i.index}" for i in job.iterations]
        self._slices(parent, 0, "iterations", starts, ends, labels)
        counter = self._packets.counter(parent, 1, "iteration time", "ms")
        for end_ns, seconds in zip(ends.tolist(), iteration_seconds(job).tolist(), strict=True):
            packet = self._packets.event(end_ns, counter, TrackEvent.TYPE_COUNTER)
            packet.track_event.double_counter_value = seconds * 1e3
            self._packets.put(packet)

    def _happenings(self, parent: int, job: JobReport) -> None:
        """Findings and events of a job; what has no end lasts to the end of the window."""
        findings = [f for f in by_severity(self._report) if f.job == job.id]
        events = [e for e in self._report.events if e.job == job.id]
        said = [f"{f.severity}: {f.summary}" for f in findings]
        names = [e.kind.replace("_", " ") + (f": {e.detail}" if e.detail else "") for e in events]
        last = self._report.window.end_ns
        until = [last if f.end_ns is None else f.end_ns for f in findings]
        ended = [e.start_ns if e.end_ns is None else e.end_ns for e in events]
        self._slices(parent, 2, "findings", _times(f.start_ns for f in findings), _times(until), said)
        self._slices(parent, 3, "events", _times(e.start_ns for e in events), _times(ended), names)

    def _slices(self, parent: int, rank: int, name: str, starts: Times, ends: Times, labels: Sequence[str]) -> None:
        lanes, count = assign_lanes(starts, np.maximum(ends, starts))
        for lane in range(count):
            uuid = self._packets.track(parent, rank, name if lane == 0 else f"{name} {lane + 1}")
            for row in _in_order(lanes, lane, starts):
                begin = self._packets.event(int(starts[row]), uuid, TrackEvent.TYPE_SLICE_BEGIN)
                begin.track_event.name = labels[row]
                self._packets.put(begin)
                self._packets.put(
                    self._packets.event(int(max(ends[row], starts[row])), uuid, TrackEvent.TYPE_SLICE_END)
                )

    def _endpoint(self, parent: int, position: Position, number: str, spans: Frame) -> None:
        stage = "" if position.stage is None else f" · stage {position.stage}"
        name = f"{number} {self._names.full(position.address)}{stage}"
        own = self._packets.track(parent, 3 + position.number, name, "process groups: " + ", ".join(position.groups))
        rank = 0
        for lane_name, kinds in LANES:
            rows = spans.take(np.isin(spans["span"], [SPAN_NAMES.index(kind) for kind in kinds]))
            lanes, count = assign_lanes(rows["start_ns"], rows["end_ns"])
            for lane in range(count):
                rank += 1
                label = (lane_name or "more") + ("" if lane == 0 else f" {lane + 1}")
                uuid = own if not lane_name and lane == 0 else self._packets.track(own, rank, label)
                self._spans(uuid, rows, _in_order(lanes, lane, rows["start_ns"]))
        for one in [one for one in self._profiles if one.endpoint == position.address]:
            rank += 1
            self._profiles.remove(one)
            draw_profile(self._packets, self._packets.track(own, rank, one.title, one.description), one)

    def _spans(self, track: int, rows: Frame, order: Sequence[int]) -> None:
        """Begin and end of each span of one lane, in time order."""
        groups_from = len(self._timelines.addresses)
        columns = [rows[c].tolist() for c in ("start_ns", "end_ns", "span", "iteration", "peer", "bytes", "group")]
        for row in order:
            start_ns, end_ns, span, iteration, peer, moved, group = (column[row] for column in columns)
            packet = self._packets.event(start_ns, track, TrackEvent.TYPE_SLICE_BEGIN)
            event = packet.track_event
            event.name_iid = span + 1
            if iteration >= 0:
                event.debug_annotations.add(name_iid=1, int_value=iteration)
            if peer >= 0:
                event.debug_annotations.add(name_iid=2, string_value_iid=peer + 1)
            if moved:
                event.debug_annotations.add(name_iid=3, int_value=moved)
            if group >= 0:
                event.debug_annotations.add(name_iid=4, string_value_iid=groups_from + group + 1)
            self._packets.put(packet)
            self._packets.put(self._packets.event(end_ns, track, TrackEvent.TYPE_SLICE_END))


def _of_job(timelines: Timelines, job_id: str) -> Frame:
    spans = timelines.spans
    code = timelines.jobs.index(job_id) if job_id in timelines.jobs else -1
    return spans.take(spans["job"] == code)


def _times(values: Iterable[int]) -> Times:
    return np.array(list(values), np.int64)


def _in_order(lanes: Times, lane: int, starts: Times) -> list[int]:
    rows = np.flatnonzero(lanes == lane)
    order: list[int] = rows[np.argsort(starts[rows], kind="stable")].tolist()
    return order


def _about(job: JobReport) -> str:
    """Layout and process groups of a job, for the viewer's track details."""
    lines = [phrases.scope(job), f"{phrases.sizes(job.layout)} · {phrases.sharding(job.layout)}"]
    if job.period_s is not None:
        lines.append(f"an iteration takes {significant(job.period_s)} s")
    for kind in GROUP_KINDS:
        for number, members in enumerate(getattr(job.groups, kind), 1):
            lines.append(f"{kind} {number}: {(' → ' if kind == 'pp' else ' ').join(members)}")
    return "\n".join(lines)
