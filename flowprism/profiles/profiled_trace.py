"""Profiles and the network on one clock, as one Perfetto trace."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from datamodel.errors import InputError
from datamodel.reconstructed.timeline import Timelines
from datamodel.reports.report import Report, Window
from datamodel.telemetry.profiles import Profile, ProfiledRank
from flowprism.profiles.common_clock import CommonClock, common_clock
from flowprism.profiles.recorded_fabric import NO_TIMELINES, recorded_fabric
from flowprism.rendering.formats.perfetto import write_trace
from flowprism.rendering.formats.perfetto_profiles import ProfileTracks
from flowprism.rendering.names import Names
from flowprism.rendering.profile_times import label, where

# What flows are shown around a recording, where clocks of hosts and exporters are not compared.
_APART_NS = 1_000_000_000


def write_profiled_trace(
    profiles: Sequence[Profile],
    ranks: Sequence[ProfiledRank],
    timelines: Timelines | None,
    report: Report | None,
    names: Names,
    path: Path,
) -> list[str]:
    """Write host tracks of profiles, and what the network did in their time; what is not on one clock, in lines.

    Args:
        profiles: of one job.
        ranks: what the profiles' report says of each.
        timelines: of the network; None: host tracks alone.
        report: of the network, for layouts, iterations and findings.
        names: of endpoints.
        path: of the file.

    Raises:
        InputError: no profile has a clock that others can be compared with.
        OSError: the file cannot be written.
    """
    clock = common_clock(profiles, ranks)
    drawn = [
        ProfileTracks(profile, _title(one), _description(one, shift_ns), one.endpoint, shift_ns)
        for profile, one, shift_ns in zip(profiles, ranks, clock.shifts_ns, strict=True)
        if shift_ns is not None
    ]
    if not drawn:
        raise InputError(f"{path}: no profile can be shown: {'; '.join(clock.problems) or 'none was read'}")
    shown = timelines if timelines is not None and clock.utc else NO_TIMELINES
    apart_ns = 0 if clock.of_flows else _APART_NS
    spans_ns = [one.span_ns for one in drawn]
    window = Window(start_ns=min(a for a, _ in spans_ns) - apart_ns, end_ns=max(b for _, b in spans_ns) + apart_ns)
    write_trace(recorded_fabric(shown, report, window), names, path, drawn)
    return [*clock.problems, *_apart(clock, timelines)]


def _apart(clock: CommonClock, timelines: Timelines | None) -> list[str]:
    if timelines is None or clock.of_flows:
        return []
    what = "the trace shows both by their own clocks" if clock.utc else "the trace leaves the network out"
    return [f"no collective compares the clocks of hosts and flows, {what}"]


def _title(one: ProfiledRank) -> str:
    named = f"rank {label(one)}" if one.rank is not None else one.file
    gpu = "" if one.gpu is None else f"GPU {one.gpu}"
    return " · ".join(text for text in (named, gpu, where(one)) if text)


def _description(one: ProfiledRank, shift_ns: int) -> str:
    return f"{one.file}; its times are moved by {shift_ns / 1e6:+.3f} ms"
