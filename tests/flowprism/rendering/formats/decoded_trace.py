"""A Perfetto trace taken apart, held to the format's rules."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TracePacket, TrackDescriptor, TrackEvent


class DecodedSlice(NamedTuple):
    """A slice, and how many others it lies in."""

    name: str
    category: str
    start_ns: int
    end_ns: int
    depth: int


@dataclass
class Decoded:
    """A trace taken apart: tracks by uuid, and per track its events in file order."""

    tracks: dict[int, TrackDescriptor] = field(default_factory=dict)
    events: dict[int, list[TracePacket]] = field(default_factory=lambda: defaultdict(list))
    names: dict[int, str] = field(default_factory=dict)
    categories: dict[int, str] = field(default_factory=dict)
    annotations: dict[int, str] = field(default_factory=dict)
    strings: dict[int, str] = field(default_factory=dict)
    realtime_at_zero_ns: int = 0

    def ancestors(self, uuid: int) -> list[TrackDescriptor]:
        """The track, its parent, and so on to the process."""
        chain = [self.tracks[uuid]]
        while chain[-1].HasField("parent_uuid"):
            chain.append(self.tracks[chain[-1].parent_uuid])
        return chain

    def name(self, event: TrackEvent) -> str:
        """An event's name, spelled out or interned."""
        return event.name or self.names[event.name_iid]

    def below(self, uuid: int) -> list[TrackDescriptor]:
        """The tracks directly below one."""
        return [track for track in self.tracks.values() if track.parent_uuid == uuid]

    def slices(self, uuid: int) -> list[DecodedSlice]:
        """The slices of a track, which nest, in the order of their ends; times are UTC."""
        opened: list[TracePacket] = []
        found, before_ns = [], 0
        for packet in self.events[uuid]:
            assert packet.timestamp >= before_ns, "time runs back"
            before_ns = packet.timestamp
            if packet.track_event.type == TrackEvent.TYPE_SLICE_BEGIN:
                opened.append(packet)
                continue
            begun, depth = opened.pop(), len(opened)
            categories = [self.categories[iid] for iid in begun.track_event.category_iids]
            times = [one.timestamp + self.realtime_at_zero_ns for one in (begun, packet)]
            found.append(DecodedSlice(self.name(begun.track_event), "".join(categories), times[0], times[1], depth))
        assert not opened, "a slice has no end"
        return found

    def arguments(self, event: TrackEvent) -> dict[str, int | str]:
        """An event's annotations by name."""
        return {
            self.annotations[a.name_iid]: self.strings[a.string_value_iid] if a.string_value_iid else a.int_value
            for a in event.debug_annotations
        }


def decode(path: Path) -> Decoded:
    """Read a trace; every packet must belong to the sequence that named what it refers to."""
    trace = Trace()
    trace.ParseFromString(path.read_bytes())
    out = Decoded()
    for packet in trace.packet:
        assert packet.trusted_packet_sequence_id == 1
        if packet.HasField("clock_snapshot"):
            clocks = {c.clock_id: c.timestamp for c in packet.clock_snapshot.clocks}
            assert clocks[6] == 0
            out.realtime_at_zero_ns = clocks[1]
        elif packet.HasField("interned_data"):
            first = TracePacket.SEQ_NEEDS_INCREMENTAL_STATE if out.names else TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
            assert packet.sequence_flags == first
            data = packet.interned_data
            assert out.names.keys().isdisjoint(n.iid for n in data.event_names)
            out.names |= {n.iid: n.name for n in data.event_names}
            out.categories |= {n.iid: n.name for n in data.event_categories}
            out.annotations |= {n.iid: n.name for n in data.debug_annotation_names}
            out.strings |= {n.iid: n.str.decode() for n in data.debug_annotation_string_values}
        elif packet.HasField("track_descriptor"):
            assert packet.track_descriptor.uuid not in out.tracks
            out.tracks[packet.track_descriptor.uuid] = packet.track_descriptor
        else:
            assert packet.sequence_flags == TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
            assert packet.track_event.track_uuid in out.tracks, "a track is described before its first event"
            out.events[packet.track_event.track_uuid].append(packet)
    return out
