"""Packets of a Perfetto trace on their way to a file: the clock, names said once, tracks, and events on them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import BinaryIO

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import InternedData, TracePacket, TrackDescriptor, TrackEvent

SEQUENCE = 1
NEEDS_STATE = TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
_BOOTTIME, _REALTIME = 6, 1  # builtin_clock.proto; BOOTTIME is the clock of a trace that names none


class PacketWriter:
    """Writes packets one after another, and numbers tracks and the names of events.

    Attributes:
        zero_ns: UTC of the trace's time 0; no event may be earlier, for timestamps are unsigned.
    """

    def __init__(self, file: BinaryIO, zero_ns: int) -> None:
        self.zero_ns = zero_ns
        self._file = file
        self._tracks = 0
        self._names: dict[str, int] = {}
        self._categories: dict[str, int] = {}

    def begin(self, names: Iterable[str], interned: InternedData) -> None:
        """Write the preamble: the clock, and what later packets refer to by number.

        Args:
            names: of events, numbered from 1.
            interned: further texts that events refer to.
        """
        clocks = TracePacket(trusted_packet_sequence_id=SEQUENCE)
        clocks.clock_snapshot.clocks.add(clock_id=_BOOTTIME, timestamp=0)
        clocks.clock_snapshot.clocks.add(clock_id=_REALTIME, timestamp=self.zero_ns)
        self.put(clocks)
        packet = TracePacket(
            trusted_packet_sequence_id=SEQUENCE,
            sequence_flags=TracePacket.SEQ_INCREMENTAL_STATE_CLEARED,
            first_packet_on_sequence=True,
            interned_data=interned,
        )
        self._number(names, packet.interned_data)
        self.put(packet)

    def number_names(self, names: Iterable[str]) -> list[int]:
        """The number of each name of an event; those that are new are written first."""
        packet = TracePacket(trusted_packet_sequence_id=SEQUENCE, sequence_flags=NEEDS_STATE)
        numbers = self._number(names, packet.interned_data)
        if packet.interned_data.event_names:
            self.put(packet)
        return numbers

    def number_categories(self, names: Iterable[str]) -> list[int]:
        """The number of each category of events; they are written when they are first asked for."""
        listed = list(names)
        if not self._categories:
            packet = TracePacket(trusted_packet_sequence_id=SEQUENCE, sequence_flags=NEEDS_STATE)
            for name in listed:
                self._categories[name] = len(self._categories) + 1
                packet.interned_data.event_categories.add(iid=self._categories[name], name=name)
            self.put(packet)
        return [self._categories[name] for name in listed]

    def _number(self, names: Iterable[str], interned: InternedData) -> list[int]:
        numbers = []
        for name in names:
            if name not in self._names:
                self._names[name] = len(self._names) + 1
                interned.event_names.add(iid=self._names[name], name=name)
            numbers.append(self._names[name])
        return numbers

    def process(self, pid: int, name: str, description: str) -> int:
        """Describe a process, which stands at the top; its tracks stand in the order of their ranks."""
        track = TrackDescriptor(uuid=self._new_track(), description=description)
        track.process.pid = pid
        track.process.process_name = name
        track.child_ordering = TrackDescriptor.EXPLICIT
        self._describe(track)
        return track.uuid

    def track(self, parent: int, rank: int, name: str, description: str = "") -> int:
        """Describe a track below `parent`; equally named siblings stay apart."""
        track = TrackDescriptor(uuid=self._new_track(), parent_uuid=parent, name=name, sibling_order_rank=rank)
        track.child_ordering = TrackDescriptor.EXPLICIT
        track.sibling_merge_behavior = TrackDescriptor.SIBLING_MERGE_BEHAVIOR_NONE
        if description:
            track.description = description
        self._describe(track)
        return track.uuid

    def counter(self, parent: int, rank: int, name: str, unit: str) -> int:
        """Describe a track of numbers below `parent`."""
        track = TrackDescriptor(uuid=self._new_track(), parent_uuid=parent, name=name)
        track.sibling_order_rank = rank
        track.counter.unit_name = unit
        self._describe(track)
        return track.uuid

    def event(self, time_ns: int, track: int, kind: TrackEvent.Type) -> TracePacket:
        """An event, not yet written."""
        packet = TracePacket(
            timestamp=max(time_ns - self.zero_ns, 0),  # what was on before the window begins with it
            trusted_packet_sequence_id=SEQUENCE,
            sequence_flags=NEEDS_STATE,
        )
        packet.track_event.type = kind
        packet.track_event.track_uuid = track
        return packet

    def put(self, packet: TracePacket) -> None:
        """A trace is its packets one after another, each as field 1 with its length as a varint."""
        body = packet.SerializeToString()
        length, head = len(body), b"\x0a"
        while length > 0x7F:
            head += bytes((length & 0x7F | 0x80,))
            length >>= 7
        self._file.write(head + bytes((length,)) + body)

    def put_bytes(self, packets: bytes) -> None:
        """Write packets that are bytes already, each with its head."""
        self._file.write(packets)

    def _new_track(self) -> int:
        self._tracks += 1
        return self._tracks

    def _describe(self, track: TrackDescriptor) -> None:
        self.put(TracePacket(trusted_packet_sequence_id=SEQUENCE, track_descriptor=track))
