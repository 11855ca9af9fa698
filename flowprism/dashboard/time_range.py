"""Which stretch of time a page shows: the newest so and so much, or from one time to another, as the address says."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal
from urllib.parse import urlencode

from flowprism.service.http.query_parameters import MOST_NS

Last = Literal["", "15m", "1h", "6h", "24h", "7d", "30d"]
LENGTHS_S: dict[Last, int] = {"15m": 900, "1h": 3600, "6h": 21_600, "24h": 86_400, "7d": 604_800, "30d": 2_592_000}
_SHORTEST_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A stretch of time, UTC.

    Attributes:
        start_ns, end_ns: of it.
        last: which of the usual lengths it is, counted back from the newest; "" for another one.
    """

    start_ns: int
    end_ns: int
    last: Last = ""

    def moved(self, parts: float) -> str:
        """The address of the stretch that lies so many lengths later; less than zero is earlier."""
        by_ns = round((self.end_ns - self.start_ns) * parts)
        return self._query(self.start_ns + by_ns, self.end_ns + by_ns)

    def scaled(self, ratio: float) -> str:
        """The address of the stretch with the same middle that is so many times as long."""
        middle, half = (self.start_ns + self.end_ns) // 2, round((self.end_ns - self.start_ns) * ratio / 2)
        return self._query(middle - half, middle + half)

    @staticmethod
    def _query(start_ns: int, end_ns: int) -> str:
        lacking_ns = max(_SHORTEST_NS - (end_ns - start_ns), 0)
        start_ns, end_ns = start_ns - lacking_ns // 2, end_ns + lacking_ns - lacking_ns // 2
        return "?" + urlencode({"from": written(max(start_ns, 0)), "to": written(min(end_ns, MOST_NS))})


def asked_range(last: Last, begin: str, end: str, newest_ns: int) -> TimeRange:
    """The range an address asks for; `newest_ns` is where the usual lengths end.

    Raises:
        ValueError: a time is none, or the end is not behind the begin.
    """
    if not begin and not end:
        chosen: Last = last or "1h"
        return TimeRange(newest_ns - LENGTHS_S[chosen] * 10**9, newest_ns, chosen)
    end_ns = read_time(end) if end else newest_ns
    start_ns = read_time(begin) if begin else end_ns - LENGTHS_S[last or "1h"] * 10**9
    if end_ns - start_ns < _SHORTEST_NS:
        raise ValueError("the end is not a second behind the begin")
    return TimeRange(start_ns, end_ns)


def read_time(text: str) -> int:
    """A time as an address writes it, `2026-11-21T01:48:12Z`, ns UTC; without a zone it is UTC.

    Raises:
        ValueError: it is none, or none of this century.
    """
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(f"{text[:40]!r} is no time such as 2026-11-21T01:48:12Z") from None
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    try:
        time_ns = round(moment.timestamp() * 1000) * 1_000_000
    except OverflowError:
        raise ValueError(f"{text[:40]!r} is out of reach") from None
    if not 0 <= time_ns <= MOST_NS:
        raise ValueError(f"{text[:40]!r} is out of reach")
    return time_ns


def written(time_ns: int) -> str:
    """A time as an address writes it, to the millisecond where that matters."""
    seconds, rest = divmod(time_ns // 1_000_000, 1000)
    text = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}"
    return f"{text}.{rest:03d}Z" if rest else f"{text}Z"
