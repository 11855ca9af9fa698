"""The exporters of a feed: every switch that sees packets at its points, its clock, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from datamodel.durations import DAY_NS
from datamodel.reconstructed.streams import Bool, Int
from simulate.export.feed_spec import FeedSpec
from simulate.network.fabric import Fabric

NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Exporters:
    """(switches,) each, leaves first, then spines.

    Attributes:
        fabric: whose switches.
        exported_rate: sampling rate that is announced.
        offset_ns, drift_ppm: of the clock: how far it is ahead at `begin_ns`, and how much faster it runs.
        boot_ns: when it was switched on, true UTC.
        silent_ns, restart_ns: start of its silence, and its restart; NEVER for never.
        begin_ns: beginning of the window, true UTC.
    """

    fabric: Fabric
    exported_rate: Int
    offset_ns: Int
    drift_ppm: Int
    boot_ns: Int
    silent_ns: Int
    restart_ns: Int
    begin_ns: int

    def local_ns(self, switch: Int, time_ns: Int) -> Int:
        """What the switches' clocks show at true times."""
        drift = (time_ns - self.begin_ns) * self.drift_ppm[switch] // 1_000_000
        return time_ns + self.offset_ns[switch] + drift

    def session(self, switch: Int, time_ns: Int) -> Int:
        """Which life of a switch a time falls into: 0 before its restart, 1 after."""
        return (time_ns >= self.restart_ns[switch]).astype(np.int64)

    def began_ns(self, switch: Int, session: Int) -> Int:
        """When a life of a switch began, true UTC."""
        return np.where(session == 1, self.restart_ns[switch], self.boot_ns[switch])

    def speaks(self, switch: Int, time_ns: Int) -> Bool:
        """Whether a switch still exports."""
        return time_ns < self.silent_ns[switch]

    def truth(self, used: Int, sent: Mapping[int, Mapping[str, int]]) -> list[dict[str, object]]:
        """What was really so of each switch that sees anything, and what became of its datagrams, if it sent any."""
        return [
            {
                "name": self.fabric.switch_name(n),
                "agent": self.fabric.agent(n),
                "exported_rate": int(self.exported_rate[n]),
                "offset_ns": int(self.offset_ns[n]),
                "drift_ppm": int(self.drift_ppm[n]),
                "silent_ns": None if self.silent_ns[n] == NEVER else int(self.silent_ns[n]),
                "restart_ns": None if self.restart_ns[n] == NEVER else int(self.restart_ns[n]),
                **sent.get(n, {"datagrams": 0}),
            }
            for n in used.tolist()
        ]


def exporters(
    feed: FeedSpec, fabric: Fabric, used: Int, window_ns: tuple[int, int], random: np.random.Generator
) -> Exporters:
    """The switches of a fabric as exporters of a feed.

    Args:
        feed: what is declared of all of them.
        fabric: theirs.
        used: switches that see anything, each once, from which those that ail are drawn.
        window_ns: first and last time of the traffic, true UTC.
        random: what draws.
    """
    count = fabric.leaves + fabric.spines
    begin, end = window_ns
    offset = random.uniform(-1, 1, count) * feed.clocks.offset_ms * 1e6
    drift = random.uniform(-1, 1, count) * feed.clocks.drift_ppm
    boot = begin - random.integers(DAY_NS, 30 * DAY_NS, count)
    ails = np.isin(np.arange(count), random.choice(used, max(round(len(used) * feed.ailment.share), 1), replace=False))

    def moment(share: float | None) -> Int:
        return np.full(count, NEVER) if share is None else np.where(ails, begin + int((end - begin) * share), NEVER)

    announced = 1 if feed.prescaled else feed.rate
    exported = announced if feed.ailment.exported_rate is None else feed.ailment.exported_rate
    return Exporters(
        fabric,
        np.where(ails, exported, announced),
        np.rint(offset).astype(np.int64),
        np.rint(drift).astype(np.int64),
        boot,
        moment(feed.ailment.silent_from),
        moment(feed.ailment.restart_at),
        begin,
    )
