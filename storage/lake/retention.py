"""How long what is kept: an age and a size for each kind of records; what is older, or beyond it, goes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from datamodel.durations import DAY_NS
from storage.lake.manifest import Segment
from storage.lake.snapshot import Snapshot

_GIB = 1 << 30

AGE, BUDGET = "older than kept", "beyond the bytes kept"


@dataclass(frozen=True, slots=True)
class Limit:
    """How long one kind of records is kept.

    Attributes:
        age_ns: since it was committed; None for ever.
        file_bytes: of its segments together; None for all that there is room for.
    """

    age_ns: int | None
    file_bytes: int | None


# The finer the records, the sooner their worth is gone, and the more there are of them: an hour of raw flows of a
# thousand GPUs takes as much room as a month of their iterations.
DEFAULT_LIMITS: Mapping[str, Limit] = {
    "flows": Limit(2 * DAY_NS, 200 * _GIB),
    "counters": Limit(14 * DAY_NS, 20 * _GIB),
    "drops": Limit(14 * DAY_NS, 5 * _GIB),
    "spans": Limit(14 * DAY_NS, 100 * _GIB),
    "iterations": Limit(400 * DAY_NS, 20 * _GIB),
    "patterns": Limit(90 * DAY_NS, 20 * _GIB),
    "rates": Limit(14 * DAY_NS, 20 * _GIB),
}


def find_expired(now: Snapshot, limits: Mapping[str, Limit], time_ns: int) -> list[tuple[Segment, str]]:
    """Segments that are not to be kept at `time_ns`, UTC, and why: `AGE` or `BUDGET`. Kinds without limit stay.

    A segment goes when its newest record is too old. Of those that are not, the oldest go until the rest has room.
    """
    found: list[tuple[Segment, str]] = []
    for kind, limit in sorted(limits.items()):
        newest_first = sorted(now.of_kind(kind), key=lambda s: (s.written_ns, s.end_ns, s.file), reverse=True)
        found += _expired(newest_first, limit, time_ns)
    return found


def _expired(newest_first: Iterable[Segment], limit: Limit, time_ns: int) -> Iterable[tuple[Segment, str]]:
    kept_bytes = 0
    for segment in newest_first:
        if limit.age_ns is not None and segment.written_ns < time_ns - limit.age_ns:
            yield segment, AGE
        elif limit.file_bytes is not None and kept_bytes + segment.file_bytes > limit.file_bytes:
            kept_bytes = limit.file_bytes  # what is older goes too, even where a smaller one would still fit
            yield segment, BUDGET
        else:
            kept_bytes += segment.file_bytes
