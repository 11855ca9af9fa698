"""A decoder of datagrams that tests make: a number, how many records it stands for, and what it does to its decoder.

Its state is the set of exporters' expected numbers, so that a restart that loses the state, or takes a wrong one, shows
as datagrams counted missing or doubled.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from capture.configured_rates import SamplingRates
from capture.exporters.datagram import Datagrams
from capture.ingest_log import IngestLog
from capture.receive.source_filter import words
from capture.states.state_parts import StatePart
from capture.tables.addresses import from_words
from datamodel.frame import Frame, concat, empty
from datamodel.telemetry.counters import COUNTERS, DROPS
from datamodel.telemetry.exporter_stats import ExporterStats
from datamodel.telemetry.flows import FLOWS

HEAD = struct.Struct("!4sIHc")
HARMLESS, KILLS, RAISES, HANGS, ONCE = b".", b"k", b"r", b"h", b"1"
BOOK = ("10.0.0.1", "10.0.0.2")


def datagram(number: int, records: int = 1, deed: bytes = HARMLESS, padding: int = 0) -> bytes:
    """A datagram: its records have `bytes` = 1000 * number + 0, 1, 2 ..."""
    return HEAD.pack(b"fake", number, records, deed) + bytes(padding)


def records_of(number: int, records: int = 1) -> range:
    """The `bytes` of a datagram's records."""
    return range(1000 * number, 1000 * number + records)


@dataclass(frozen=True)
class Taken:
    """As `capture.export_decoder.Decoded`."""

    flows: Frame
    counters: Frame
    drops: Frame
    addresses: tuple[str, ...]


class FakeDecoder:
    """Decodes `datagram`s."""

    def __init__(self, _rates: SamplingRates) -> None:
        self.records = self.samples = self.thinned = 0
        self._rows: list[int] = []
        self._expected: dict[str, int] = {}
        self._lost: dict[str, int] = {}
        self._unknown = 0

    def feed(self, batch: Datagrams) -> None:
        """Decode, or die."""
        for row in batch.index:
            content = bytes(batch.data[row["offset"] : row["offset"] + row["bytes"]])
            if len(content) < HEAD.size or not content.startswith(b"fake"):
                self._unknown += 1
                continue
            _, number, records, deed = HEAD.unpack_from(content)
            _do(deed, content[HEAD.size :])
            agent = from_words(int(row["source_high"]), int(row["source_low"]))
            self._lost[agent] = self._lost.get(agent, 0) + number - self._expected.get(agent, number)
            self._expected[agent] = number + 1
            self._rows.extend(records_of(number, records))
            self.records += records

    def thin(self, one_in: int) -> None:
        """Not at all: there are no samples."""

    def take(self) -> Taken:
        """Records since the last time."""
        number = np.array(self._rows, np.int64)
        ends = {"src_addr": np.zeros(len(number)), "dst_addr": np.ones(len(number))}
        times = dict.fromkeys(("time_flow_start_ns", "time_flow_end_ns"), number)
        self._rows = []
        frame = Frame(FLOWS, {**times, **ends, "bytes": number})
        return Taken(concat(FLOWS, [frame]), empty(COUNTERS), empty(DROPS), BOOK)

    @property
    def exporters_known(self) -> int:
        """Sources."""
        return len(self._lost)

    def lost(self) -> dict[str, int]:
        """All that is missing."""
        return {"datagrams": sum(self._lost.values())}

    def exporters(self, most: int | None = None) -> tuple[ExporterStats, ...]:  # noqa: ARG002 - there are few
        """An account for each source."""
        return tuple(ExporterStats("fake", agent, 0, lost=lost) for agent, lost in sorted(self._lost.items()))

    def account(self, ingest_log: IngestLog) -> None:
        """Count what was no datagram of ours."""
        ingest_log.reject("not a fake", self._unknown)

    def state(self) -> bytes:
        """Expected numbers and losses."""
        return json.dumps([self._expected, self._lost]).encode()

    def restore(self, state: bytes) -> None:
        """Go on with them."""
        self._expected, self._lost = json.loads(state)

    def join(self, parts: Sequence[StatePart]) -> None:
        """Go on with those of the sources that are taken."""
        for part in parts:
            expected, lost = json.loads(part.state)
            for agent in expected:
                high, low = words(agent)
                if part.owned(np.array([high]), np.array([low]))[0]:
                    self._expected[agent], self._lost[agent] = expected[agent], lost[agent]


def _do(deed: bytes, rest: bytes) -> None:
    if deed == KILLS:
        os.kill(os.getpid(), signal.SIGKILL)
    elif deed == RAISES:
        raise RuntimeError("this datagram is too much for me")
    elif deed == HANGS:
        time.sleep(3600)
    elif deed == ONCE:  # as if something from outside had ended the process just then
        path = rest.decode()
        if not os.path.exists(path):  # noqa: PTH110 - two system calls between here and the end
            os.close(os.open(path, os.O_CREAT))
            os.kill(os.getpid(), signal.SIGKILL)
