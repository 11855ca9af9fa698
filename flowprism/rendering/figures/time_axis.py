"""Ticks of an axis of time: at round times of day in a time zone."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

from datamodel.durations import SECOND_NS

_DAY_S = 86_400
_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, _DAY_S)


def time_ticks(start_ns: int, end_ns: int, about: int, zone: tzinfo = UTC) -> list[tuple[int, str]]:
    """Some `about` round times within [start_ns, end_ns], ns UTC, each with its text.

    Seconds are shown below one minute between ticks; midnight is shown as a date. Below one second apart there
    are no rounder times than whole seconds. Where the zone's offset changes within the span, ticks keep the first one.
    """
    span_s = max((end_ns - start_ns) / 1e9, 1e-9)
    step_s = next((step for step in _STEPS_S if step >= span_s / about), None)
    if step_s is None:
        step_s = _DAY_S * -(-int(span_s) // (_DAY_S * about))
    offset = datetime.fromtimestamp(start_ns // SECOND_NS, zone).utcoffset()
    offset_s = 0 if offset is None else int(offset.total_seconds())
    first_s = -(-(start_ns + offset_s * SECOND_NS) // (step_s * SECOND_NS)) * step_s - offset_s
    times = range(first_s, end_ns // SECOND_NS + 1, step_s)
    return [(second * SECOND_NS, _text(second, step_s, zone)) for second in times]


def _text(second: int, step_s: int, zone: tzinfo) -> str:
    moment = datetime.fromtimestamp(second, zone)
    if step_s >= _DAY_S or (moment.hour, moment.minute, moment.second) == (0, 0, 0):
        return f"{moment.day} {moment:%b}"
    return f"{moment:%H:%M}" if step_s >= 60 else f"{moment:%H:%M:%S}"
