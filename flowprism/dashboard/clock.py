"""Times as pages show them: in the viewer's time zone, next to UTC, and as an age."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

from fastapi import Request

from flowprism.rendering.units import duration

COOKIE = "flowprism_zone"  # set by zone.js to what the browser says
_NAME = re.compile(r"[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+){0,2}")
_DAY_S = 86400


@lru_cache(maxsize=64)
def zone_named(name: str) -> tzinfo:
    """The time zone of this name; UTC where there is none."""
    if len(name) > 64 or not _NAME.fullmatch(name):
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # not known to this machine
        return UTC


@dataclass(frozen=True, slots=True)
class Clock:
    """The viewer's clock.

    Attributes:
        now_ns: UTC.
        zone: of the viewer.
        name: IANA name of the zone, from the browser's cookie; "" without one.
    """

    now_ns: int
    zone: tzinfo = UTC
    name: str = ""

    def day_time(self, time_ns: int) -> str:
        """Date and time of day in the zone: `2026-11-21 02:48:12`; today's without the date."""
        return self._text(time_ns, self.zone)

    def span(self, start_ns: int, end_ns: int) -> str:
        """From when to when in the zone: `2026-11-21 02:48:12 to 02:50:00`, each date once."""
        same_day = _moment(start_ns, self.zone).date() == _moment(end_ns, self.zone).date()
        return f"{self.day_time(start_ns)} to {self.time(end_ns) if same_day else self.day_time(end_ns)}"

    def time(self, time_ns: int) -> str:
        """Time of day in the zone: `02:48:12`."""
        return f"{_moment(time_ns, self.zone):%H:%M:%S}"

    def utc(self, time_ns: int) -> str:
        """The same in UTC, with the date where it is another than the viewer's: `01:48:12 UTC`."""
        there, here = _moment(time_ns, UTC), _moment(time_ns, self.zone)
        same_day = there.date() == here.date() and not self.is_utc(time_ns)
        return f"{there:%H:%M:%S} UTC" if same_day else f"{self._text(time_ns, UTC)} UTC"

    def iso(self, time_ns: int) -> str:
        """The time for programs: `2026-11-21T01:48:12Z`."""
        return f"{_moment(time_ns, UTC):%Y-%m-%dT%H:%M:%SZ}"

    def ago(self, time_ns: int) -> str:
        """How long ago: `just now`, `12 min ago`, `3 days ago`."""
        past_s = (self.now_ns - time_ns) / 1e9
        return "just now" if past_s < 1 else f"{self.length(past_s)} ago"

    def length(self, seconds: float) -> str:
        """A length of time as one says it: `40 s`, `12 min`, `2 h 10 min`, `3 days`."""
        if seconds < 60:
            return f"{max(round(seconds), 0)} s"
        if seconds < 3600:
            return f"{round(seconds / 60)} min"
        return duration(seconds) if seconds < 2 * _DAY_S else f"{round(seconds / _DAY_S)} days"

    def is_utc(self, time_ns: int) -> bool:
        """Whether the zone shows UTC at that time."""
        return not _moment(time_ns, self.zone).utcoffset()

    def _text(self, time_ns: int, zone: tzinfo) -> str:
        moment = _moment(time_ns, zone)
        same_day = moment.date() == _moment(self.now_ns, zone).date()
        return f"{moment:%H:%M:%S}" if same_day else f"{moment:%Y-%m-%d %H:%M:%S}"


def clock_of(request: Request, now_ns: int) -> Clock:
    """Return the clock of a request: now, in the time zone that the browser's cookie names; UTC without a cookie."""
    name = request.cookies.get(COOKIE, "")
    return Clock(now_ns, zone_named(name) if name else UTC, name)


def _moment(time_ns: int, zone: tzinfo) -> datetime:
    return datetime.fromtimestamp(time_ns // 1_000_000_000, zone)
