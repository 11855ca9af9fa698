"""The timelines as a Perfetto trace: native protobuf TrackEvents, written packet by packet.

A process track a job; below it a track of iterations, of findings and of events, a counter of the iteration time, and
a track an endpoint, in the order of all pictures. Slices of one track never overlap (the trace format asks for it: the
end of a slice closes the youngest open one); concurrent network activity has sub-tracks of its own, one or
several a kind.

Timestamps count from the beginning of the window on Perfetto's default trace clock; a clock snapshot says which UTC
time that is, so that the viewer can show either. See https://perfetto.dev/docs/concepts/clock-sync and
https://perfetto.dev/docs/reference/synthetic-track-event.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket, TrackDescriptor, TrackEvent

from datamodel.analysis import Analysis
from datamodel.frame import Frame
from datamodel.layout import GROUP_KINDS
from datamodel.report import JobReport
from datamodel.timeline import SPAN_NAMES, Timelines
from flowprism.rendering import phrases
from flowprism.rendering.endpoint_order import Position, positions
from flowprism.rendering.facts import by_severity, iteration_seconds
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

_SEQUENCE = 1
_BOOTTIME, _REALTIME = 6, 1  # builtin_clock.proto; BOOTTIME is the clock of a trace that names none
_ANNOTATIONS = ("iteration", "peer", "bytes", "group")


def write_trace(analysis: Analysis, names: Names, path: Path) -> None:
    """Write all spans, iterations, findings and events of an analysis to `path`."""
    with path.open("wb") as file:
        _TraceWriter(analysis, names, file).write()


class _TraceWriter:
    """One trace on its way to a file: what has been named so far, and the numbers given to tracks."""

    def __init__(self, analysis: Analysis, names: Names, file: BinaryIO) -> None:
        self._report = analysis.report
        self._timelines = analysis.timelines
        self._names = names
        self._file = file
        self._tracks = 0
        starts = [analysis.report.window.start_ns]
        if len(analysis.timelines.spans):
            starts.append(int(analysis.timelines.spans["start_ns"].min()))
        starts += [i.start_ns for job in analysis.report.jobs for i in job.iterations[:1]]
        self._zero_ns = min(starts)  # trace timestamps are unsigned

    def write(self) -> None:
        """Write the preamble, then job after job, track after track."""
        self._preamble()
        for rank, job in enumerate(self._report.jobs):
            self._job(rank, job)

    def _preamble(self) -> None:
        """What later packets refer to by number: the clock, and every text said more than once."""
        clocks = TracePacket(trusted_packet_sequence_id=_SEQUENCE)
        clocks.clock_snapshot.clocks.add(clock_id=_BOOTTIME, timestamp=0)
        clocks.clock_snapshot.clocks.add(clock_id=_REALTIME, timestamp=self._zero_ns)
        self._put(clocks)
        packet = TracePacket(
            trusted_packet_sequence_id=_SEQUENCE,
            sequence_flags=TracePacket.SEQ_INCREMENTAL_STATE_CLEARED,
            first_packet_on_sequence=True,
        )
        interned = packet.interned_data
        for iid, name in enumerate(SPAN_NAMES, 1):
            interned.event_names.add(iid=iid, name=name)
        for iid, name in enumerate(_ANNOTATIONS, 1):
            interned.debug_annotation_names.add(iid=iid, name=name)
        for iid, text in enumerate(self._texts(), 1):
            interned.debug_annotation_string_values.add(iid=iid, str=text.encode())
        self._put(packet)

    def _texts(self) -> Iterable[str]:
        """Peers, then groups: the texts that annotations point to."""
        yield from (self._names.full(address) for address in self._timelines.addresses)
        yield from self._timelines.groups

    def _job(self, rank: int, job: JobReport) -> None:
        process = TrackDescriptor(uuid=self._new_track(), description=_about(job))
        process.process.pid = rank + 1
        process.process.process_name = f"job {phrases.title(job)} · {phrases.sizes(job.layout)}"
        process.child_ordering = TrackDescriptor.EXPLICIT
        self._describe(process)
        self._iterations(process.uuid, job)
        self._happenings(process.uuid, job)
        spans = _of_job(self._timelines, job.id)
        codes = {address: code for code, address in enumerate(self._timelines.addresses)}
        endpoint = spans["endpoint"]
        placed = positions(job)
        width = len(str(len(placed)))
        for position in placed:
            own = spans.take(endpoint == codes.get(position.address, -1))
            self._endpoint(process.uuid, position, f"{position.number:0{width}d}", own)

    def _iterations(self, parent: int, job: JobReport) -> None:
        """The iterations as slices and their time as a counter; neighbours overlap, so slices take turns."""
        starts = np.array([i.start_ns for i in job.iterations], np.int64)
        ends = np.array([i.end_ns for i in job.iterations], np.int64)
        labels = [f"iteration {i.index}" for i in job.iterations]
        self._slices(parent, 0, "iterations", starts, ends, labels)
        counter = TrackDescriptor(uuid=self._new_track(), parent_uuid=parent, name="iteration time")
        counter.sibling_order_rank = 1
        counter.counter.unit_name = "ms"
        self._describe(counter)
        for end_ns, seconds in zip(ends.tolist(), iteration_seconds(job).tolist(), strict=True):
            packet = self._event(end_ns, counter.uuid, TrackEvent.TYPE_COUNTER)
            packet.track_event.double_counter_value = seconds * 1e3
            self._put(packet)

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
            uuid = self._track(parent, rank, name if lane == 0 else f"{name} {lane + 1}")
            for row in _in_order(lanes, lane, starts):
                begin = self._event(int(starts[row]), uuid, TrackEvent.TYPE_SLICE_BEGIN)
                begin.track_event.name = labels[row]
                self._put(begin)
                self._put(self._event(int(max(ends[row], starts[row])), uuid, TrackEvent.TYPE_SLICE_END))

    def _endpoint(self, parent: int, position: Position, number: str, spans: Frame) -> None:
        stage = "" if position.stage is None else f" · stage {position.stage}"
        name = f"{number} {self._names.full(position.address)}{stage}"
        own = self._track(parent, 3 + position.number, name, "process groups: " + ", ".join(position.groups))
        rank = 0
        for lane_name, kinds in LANES:
            rows = spans.take(np.isin(spans["span"], [SPAN_NAMES.index(kind) for kind in kinds]))
            lanes, count = assign_lanes(rows["start_ns"], rows["end_ns"])
            for lane in range(count):
                rank += 1
                label = (lane_name or "more") + ("" if lane == 0 else f" {lane + 1}")
                uuid = own if not lane_name and lane == 0 else self._track(own, rank, label)
                self._spans(uuid, rows, _in_order(lanes, lane, rows["start_ns"]))

    def _spans(self, track: int, rows: Frame, order: Sequence[int]) -> None:
        """Begin and end of each span of one lane, in time order."""
        groups_from = len(self._timelines.addresses)
        columns = [rows[c].tolist() for c in ("start_ns", "end_ns", "span", "iteration", "peer", "bytes", "group")]
        for row in order:
            start_ns, end_ns, span, iteration, peer, moved, group = (column[row] for column in columns)
            packet = self._event(start_ns, track, TrackEvent.TYPE_SLICE_BEGIN)
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
            self._put(packet)
            self._put(self._event(end_ns, track, TrackEvent.TYPE_SLICE_END))

    def _new_track(self) -> int:
        self._tracks += 1
        return self._tracks

    def _track(self, parent: int, rank: int, name: str, description: str = "") -> int:
        """Describe a track below `parent`; equally named siblings stay apart."""
        track = TrackDescriptor(uuid=self._new_track(), parent_uuid=parent, name=name, sibling_order_rank=rank)
        track.child_ordering = TrackDescriptor.EXPLICIT
        track.sibling_merge_behavior = TrackDescriptor.SIBLING_MERGE_BEHAVIOR_NONE
        if description:
            track.description = description
        self._describe(track)
        return track.uuid

    def _describe(self, track: TrackDescriptor) -> None:
        self._put(TracePacket(trusted_packet_sequence_id=_SEQUENCE, track_descriptor=track))

    def _event(self, time_ns: int, track: int, kind: TrackEvent.Type) -> TracePacket:
        packet = TracePacket(
            timestamp=max(time_ns - self._zero_ns, 0),  # what was on before the window begins with it
            trusted_packet_sequence_id=_SEQUENCE,
            sequence_flags=TracePacket.SEQ_NEEDS_INCREMENTAL_STATE,
        )
        packet.track_event.type = kind
        packet.track_event.track_uuid = track
        return packet

    def _put(self, packet: TracePacket) -> None:
        """A trace is its packets one after another, each as field 1 with its length as a varint."""
        body = packet.SerializeToString()
        length, head = len(body), b"\x0a"
        while length > 0x7F:
            head += bytes((length & 0x7F | 0x80,))
            length >>= 7
        self._file.write(head + bytes((length,)) + body)


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
