"""Profiles as tracks of a Perfetto trace: iterations, each stream of the GPU and each thread of the host."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, count

import numpy as np
import numpy.typing as npt

from datamodel.telemetry.profiles import ACTIVITY_KINDS, COMMUNICATION, COMPUTE, COPY, Profile
from flowprism.rendering.formats.perfetto_packets import PacketWriter
from flowprism.rendering.formats.perfetto_slices import END, encode_slices, nest_slices

Ints = npt.NDArray[np.int64]

# Profiles count in whole microseconds, or are rounded to them: neighbors overlap by as much.
_RESOLUTION_NS = 1000
_ON_GPU = (COMPUTE, COPY, COMMUNICATION)


@dataclass(frozen=True, slots=True)
class ProfileTracks:
    """A profile to be drawn.

    Attributes:
        profile: of one rank.
        title: names the rank.
        description: what else is known of it.
        endpoint: below whose track it stands; None: it stands for itself.
        shift_ns: what is added to its times to have them on the trace's clock.
    """

    profile: Profile
    title: str
    description: str
    endpoint: str | None
    shift_ns: int

    @property
    def span_ns(self) -> tuple[int, int]:
        """Its first and last moment, on the trace's clock."""
        frames = [frame for frame in (self.profile.activities, self.profile.steps) if len(frame)]
        first = min(int(frame["start_ns"].min()) for frame in frames)
        return first + self.shift_ns, max(int(frame["end_ns"].max()) for frame in frames) + self.shift_ns


@dataclass(frozen=True, slots=True)
class _Slices:
    """What is drawn on one track: times on the profile's clock, and indices into tables of names and categories."""

    start_ns: Ints
    end_ns: Ints
    names: Ints
    categories: Ints


@dataclass(frozen=True, slots=True)
class _Drawing:
    """How one profile's slices become packets: where the trace's clock is, and the numbers of names and categories."""

    packets: PacketWriter
    shift_ns: int
    names: Ints
    categories: Ints

    def draw(self, slices: _Slices, tracks: Iterator[int]) -> None:
        """Draw slices on a track, or on as many as it takes."""
        lanes: list[int] = []
        for piece in nest_slices(slices.start_ns, slices.end_ns, _RESOLUTION_NS):
            while len(lanes) <= piece.lane:
                lanes.append(next(tracks))
            names = np.where(piece.rows == END, END, self.names[slices.names[piece.rows]])
            categories = self.categories[slices.categories[piece.rows]]
            encoded = encode_slices(lanes[piece.lane], piece.times_ns + self.shift_ns, names, categories)
            self.packets.put_bytes(encoded)


def draw_profile(packets: PacketWriter, track: int, drawn: ProfileTracks) -> None:
    """Draw iterations on the profile's own track, and below it a track for each stream and thread.

    What does not nest takes further tracks.
    """
    profile, shift_ns = drawn.profile, drawn.shift_ns - packets.zero_ns
    kinds = np.array(packets.number_categories((*ACTIVITY_KINDS, "iteration")))
    steps = profile.steps.sort("start_ns")
    numbers = np.array(packets.number_names(f"iteration {number}" for number in steps["number"].tolist()), np.int64)
    slices = _Slices(
        steps["start_ns"], steps["end_ns"], np.arange(len(steps)), np.full(len(steps), len(ACTIVITY_KINDS))
    )  # fmt: skip
    _Drawing(packets, shift_ns, numbers, kinds).draw(slices, chain([track], _tracks(packets, track, 0, "iterations")))
    drawing = _Drawing(packets, shift_ns, _numbers(packets, profile), kinds)
    for rank, (label, rows) in enumerate(_threads(profile), 1):
        own = profile.activities.take(rows)
        slices = _Slices(own["start_ns"], own["end_ns"], own["name"], own["kind"])
        drawing.draw(slices, _tracks(packets, track, rank, label))


def _tracks(packets: PacketWriter, parent: int, rank: int, label: str) -> Iterator[int]:
    """As many tracks of one label as are asked for."""
    for number in count(1):
        yield packets.track(parent, rank, label if number == 1 else f"{label}, {number}")


def _numbers(packets: PacketWriter, profile: Profile) -> Ints:
    """By code of a name the number that it has in the trace; of names that no activity has, 0. The last is of none."""
    codes = np.unique(profile.activities["name"])
    numbers = np.zeros(len(profile.names) + 1, np.int64)
    numbers[codes] = packets.number_names(profile.names[code] if code >= 0 else "" for code in codes.tolist())
    return numbers


def _threads(profile: Profile) -> list[tuple[str, Ints]]:
    """Label and activities of each track: the GPU's streams, the thread of the training loop, then the others."""
    activities = profile.activities
    on_gpu = np.isin(activities["kind"], _ON_GPU) & (profile.gpu is not None)
    found = []
    for of_gpu, code in sorted({*zip(on_gpu.tolist(), activities["thread"].tolist(), strict=True)}):
        name = profile.names[code] if code >= 0 else "?"
        main = not of_gpu and code == profile.main_thread
        label = f"stream {name}" if of_gpu else f"training loop, thread {name}" if main else f"thread {name}"
        rows = np.flatnonzero((on_gpu == of_gpu) & (activities["thread"] == code))
        found.append(((not of_gpu, not main, label), label, rows))
    return [(label, rows) for _, label, rows in sorted(found, key=lambda one: one[0])]
