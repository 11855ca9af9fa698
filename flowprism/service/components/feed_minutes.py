"""What each exporter sent, minute by minute, out of counters that only grow."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from datamodel.durations import MINUTE_NS
from datamodel.service.result_rows import FeedStatistics
from storage.database.connection import Database
from storage.database.feed_statistics import feed_statistics, save_feed_statistics

_COUNTED = ("datagrams", "records", "lost", "late", "duplicates")
_LOST_RECORDS = "lost records"
_REASON = "rejected: "


@dataclass(slots=True)
class FeedMinutes:
    """Minutes of the exporters of one collector.

    A collector that is started again in a minute goes on with what is kept of it.
    """

    database: Database
    clock: Any = time.time_ns
    _seen: dict[str, Counter[str]] | None = None
    _minute_ns: int = 0
    _sums: dict[str, Counter[str]] = field(default_factory=dict)

    def take(self, exporters: Iterable[Mapping[str, Any]]) -> None:
        """Add what counters have grown by since the last time; the first time only records their values.

        Args:
            exporters: accounts as the collector's status has them (`datamodel.telemetry.exporter_stats.ExporterStats`).

        Raises:
            StorageError: the database cannot be reached; the same may be taken again.
        """
        now_ns = self.clock()
        minute_ns = now_ns // MINUTE_NS * MINUTE_NS
        if minute_ns != self._minute_ns:
            self._sums, self._minute_ns = self._kept(minute_ns), minute_ns
        counted = _by_name(exporters)
        sums = {name: Counter(sum_) for name, sum_ in self._sums.items()}
        for name, now in counted.items():
            before = now if self._seen is None else self._seen.get(name, Counter())
            grown = {what: count - before[what] if count >= before[what] else count for what, count in now.items()}
            if any(grown.values()):
                sums.setdefault(name, Counter()).update(_in_datagrams(Counter(grown), now))
        changed = [_statistics(name, minute_ns, sums[name]) for name in sums if sums[name] != self._sums.get(name)]
        if changed:
            save_feed_statistics(self.database, changed)
        self._sums = sums
        self._seen = (self._seen or {}) | counted

    def _kept(self, minute_ns: int) -> dict[str, Counter[str]]:
        """What is kept of a minute already; of one that has just begun that is nothing."""
        kept = feed_statistics(self.database, minute_ns, minute_ns + 1)
        return {one.exporter: _counter(one) for one in kept if one.length_ns == MINUTE_NS}


def _in_datagrams(grown: Counter[str], so_far: Counter[str]) -> Counter[str]:
    """What counters have grown by, with records that were lost as the datagrams that would have held them."""
    counts = Counter(grown)
    records = counts.pop(_LOST_RECORDS, 0)
    counts["lost"] += -(-records * max(so_far["datagrams"], 1) // max(so_far["records"], 1))
    return counts


def _by_name(exporters: Iterable[Mapping[str, Any]]) -> dict[str, Counter[str]]:
    """Counters by agent address and observation domain; protocols of one exporter together."""
    found: dict[str, Counter[str]] = {}
    for one in exporters:
        sums = found.setdefault(f"{one['agent']}/{one['domain']}", Counter())
        sums.update({what: int(one.get(what, 0)) for what in _COUNTED if what != "lost"})
        sums["lost" if one.get("lost_unit", "datagrams") == "datagrams" else _LOST_RECORDS] += int(one.get("lost", 0))
        sums.update({f"{_REASON}{reason}": int(count) for reason, count in one.get("rejected", {}).items()})
    return found


def _statistics(name: str, minute_ns: int, sums: Counter[str]) -> FeedStatistics:
    rejected = {what.removeprefix(_REASON): count for what, count in sums.items() if what.startswith(_REASON) and count}
    counted = {what: sums[what] for what in _COUNTED}
    return FeedStatistics(name, minute_ns, MINUTE_NS, rejected=rejected, **counted)


def _counter(one: FeedStatistics) -> Counter[str]:
    sums = Counter({what: getattr(one, what) for what in _COUNTED})
    sums.update({f"{_REASON}{reason}": count for reason, count in one.rejected.items()})
    return sums
