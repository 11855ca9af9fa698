"""The Perfetto trace, held to the format's rules by decoding it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket, TrackDescriptor, TrackEvent

from datamodel.frame import concat
from datamodel.reconstructed.timeline import SPAN_NAMES, SPANS
from datamodel.reports.analysis import Analysis
from flowprism.rendering.endpoint_order import positions
from flowprism.rendering.formats.perfetto import write_trace
from flowprism.rendering.names import names_of
from tests.flowprism import sample
from tests.flowprism.rendering.formats.decoded_trace import Decoded, decode


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    """Two jobs of three iterations and one slow link."""
    return sample.analysis(iterations=16)


@pytest.fixture(scope="module")
def decoded(analysis: Analysis, tmp_path_factory: pytest.TempPathFactory) -> Decoded:
    """The sample's trace, written and read."""
    path = tmp_path_factory.mktemp("trace") / "trace.pftrace"
    write_trace(analysis, names_of(sample.inventory()), path)
    return decode(path)


def test_slices_are_balanced_in_order_and_do_not_overlap(decoded: Decoded) -> None:
    """On every track a begin is followed by its end, never by another begin, and time does not run back."""
    slices = 0
    for uuid, packets in decoded.events.items():
        kinds = [p.track_event.type for p in packets]
        times = [p.timestamp for p in packets]
        assert times == sorted(times), decoded.tracks[uuid].name
        if decoded.tracks[uuid].HasField("counter"):
            assert set(kinds) == {TrackEvent.TYPE_COUNTER}
            continue
        assert kinds == [TrackEvent.TYPE_SLICE_BEGIN, TrackEvent.TYPE_SLICE_END] * (len(kinds) // 2)
        slices += len(kinds) // 2
    assert slices > 4000


def test_every_span_is_a_slice_with_its_facts(analysis: Analysis, decoded: Decoded) -> None:
    """Job, endpoint, kind, times, iteration, peer, bytes and group of each row of the spans table, no more, no less."""
    names = names_of(sample.inventory())
    spans, timelines = analysis.timelines.spans, analysis.timelines
    rows = zip(*(spans[c].tolist() for c in spans.schema.names), strict=True)
    expected = Counter(
        (
            timelines.jobs[job], names.full(timelines.addresses[endpoint]), SPAN_NAMES[span],
            start_ns, end_ns, iteration,
            names.full(timelines.addresses[peer]) if peer >= 0 else None, moved or None,
            timelines.groups[group] if group >= 0 else None,
        )
        for job, endpoint, iteration, span, start_ns, end_ns, peer, moved, group in rows
    )  # fmt: skip
    found: Counter[object] = Counter()
    for uuid, packets in decoded.events.items():
        *_, below, process = decoded.ancestors(uuid)
        if below.name[0].isdigit():
            job = process.process.process_name.removeprefix("job ").split(" ")
            job_id = "A" if job[0] == "llama-70b" else "B"
            endpoint = below.name.split(" ", 1)[1].split(" · ")[0]
            for begin, end in zip(packets[::2], packets[1::2], strict=True):
                told = decoded.arguments(begin.track_event)
                at = [p.timestamp + decoded.realtime_at_zero_ns for p in (begin, end)]
                facts = (told.get(name) for name in ("iteration", "peer", "bytes", "group"))
                found[job_id, endpoint, decoded.name(begin.track_event), *at, *facts] += 1
    assert found == expected


def test_endpoints_are_named_and_stand_in_order(analysis: Analysis, decoded: Decoded) -> None:
    """Below each job one track an endpoint, in the order of the pictures by rank and, zero-padded, by name too."""
    for job, process in zip(analysis.report.jobs, processes(decoded), strict=True):
        below = [t for t in decoded.tracks.values() if t.parent_uuid == process.uuid and t.name[:1].isdigit()]
        placed = positions(job)
        width = len(str(len(placed)))
        assert [t.name.split(" ")[:2] for t in below] == [[f"{p.number:0{width}d}", p.address] for p in placed]
        assert [t.sibling_order_rank for t in below] == sorted(t.sibling_order_rank for t in below)
        assert sorted(t.name for t in below) == [t.name for t in below]
        assert process.child_ordering == TrackDescriptor.EXPLICIT


def processes(decoded: Decoded) -> list[TrackDescriptor]:
    """The jobs' tracks."""
    return [t for t in decoded.tracks.values() if t.HasField("process")]


def test_process_groups_are_told(decoded: Decoded) -> None:
    """In the job's description with their members, in an endpoint's with their names."""
    first, second = processes(decoded)
    assert first.process.process_name == "job llama-70b (A) · tp 2 · pp 2 · dp 4"
    assert "dp 1: 10.1.1.1 10.1.2.1 10.1.3.1 10.1.4.1" in first.description
    assert "pp 1: 10.1.1.1 → 10.3.1.1" in first.description
    assert first.process.pid != second.process.pid
    endpoint = next(t for t in decoded.tracks.values() if t.name.startswith("01 10.1.1.1"))
    assert endpoint.description == "process groups: dp 1, pp 1, tp 1"


def test_equally_named_lanes_are_not_merged(decoded: Decoded) -> None:
    """The viewer would put overlapping slices of two endpoints' `dp` on one track."""
    lanes = [t for t in decoded.tracks.values() if t.name == "dp"]
    assert len(lanes) == 24
    assert {t.sibling_merge_behavior for t in lanes} == {TrackDescriptor.SIBLING_MERGE_BEHAVIOR_NONE}


def test_iterations_findings_and_events_have_tracks(analysis: Analysis, decoded: Decoded) -> None:
    """Iterations overlap, so two tracks share them; their times are a counter in ms."""
    first = processes(decoded)[0]
    own = {t.name: t.uuid for t in decoded.tracks.values() if t.parent_uuid == first.uuid}
    named = [
        decoded.name(p.track_event) for track in ("iterations", "iterations 2") for p in decoded.events[own[track]][::2]
    ]
    assert sorted(named) == sorted(f"iteration {n}" for n in range(16))
    counters = decoded.events[own["iteration time"]]
    assert [p.track_event.double_counter_value for p in counters][-1] == pytest.approx(1_640, rel=0.01)
    begin, end = decoded.events[own["findings"]]
    assert decoded.name(begin.track_event).startswith("critical: The network link of 10.1.1.1")
    assert end.timestamp + decoded.realtime_at_zero_ns == analysis.report.window.end_ns
    events = next(t for t in decoded.tracks.values() if t.name == "events")
    assert len(decoded.events[events.uuid]) == 4


def test_overlapping_spans_of_one_kind_get_lanes_of_their_own(tmp_path: Path) -> None:
    """Rows that overlap within a kind are still all there, and still never overlap on a track."""
    made = sample.analysis(iterations=2, slow=False)
    spans = made.timelines.spans
    late = spans.take(spans["span"] == SPAN_NAMES.index("dp_comm"))
    late = late.replace(start_ns=late["start_ns"] + 5 * sample.MS, end_ns=late["end_ns"] + 5 * sample.MS)
    timelines = replace(made.timelines, spans=concat(SPANS, [spans, late]))
    write_trace(replace(made, timelines=timelines), names_of(None), tmp_path / "t")
    decoded = decode(tmp_path / "t")
    begun = [p for ps in decoded.events.values() for p in ps if decoded_kind(decoded, p) == "dp_comm"]
    assert len(begun) == 2 * len(late)
    assert any(t.name == "dp 2" for t in decoded.tracks.values())
    for packets in decoded.events.values():
        times = [p.timestamp for p in packets]
        assert times == sorted(times)


def decoded_kind(decoded: Decoded, packet: TracePacket) -> str:
    """The name of a slice that begins here, else nothing."""
    event = packet.track_event
    return decoded.name(event) if event.type == TrackEvent.TYPE_SLICE_BEGIN else ""


def test_no_job_makes_an_empty_trace(tmp_path: Path) -> None:
    """It is still a trace."""
    write_trace(sample.no_job(), names_of(None), tmp_path / "t")
    assert not decode(tmp_path / "t").tracks


def test_a_finding_from_before_the_window_begins_with_it(tmp_path: Path) -> None:
    """An incident of yesterday is on all through a trace of the newest iterations."""
    analysis = sample.analysis()
    old = tuple(one.model_copy(update={"start_ns": 10**9}) for one in analysis.report.findings)
    path = tmp_path / "trace"
    write_trace(replace(analysis, report=analysis.report.model_copy(update={"findings": old})), names_of(None), path)
    decoded = decode(path)
    begun = [
        packet.timestamp
        for packets in decoded.events.values()
        for packet in packets
        if packet.track_event.name.startswith(f"{old[0].severity}: ")
    ]
    assert begun == [0]
